<?php
// SPDX-License-Identifier: Apache-2.0
// php guzzle.php URL COUNT: Guzzle's pool, six requests at once, on libcurl's connections, by the environment.
require '/usr/share/php/GuzzleHttp/autoload.php';

$client = new GuzzleHttp\Client();
$requests = array_map(fn ($number) => new GuzzleHttp\Psr7\Request('GET', $argv[1] . $number), range(1, (int) $argv[2]));
$pool = new GuzzleHttp\Pool($client, $requests, [
    'concurrency' => 6,
    'fulfilled' => function ($answer) { echo $answer->getBody(); },
    'rejected' => function ($why) { fwrite(STDERR, $why->getMessage() . "\n"); exit(1); },
]);
$pool->promise()->wait();
