# SPDX-License-Identifier: Apache-2.0
# lwp.pl URL COUNT: Perl's LWP, by the environment, a process for each.
use strict;
use warnings;
use LWP::UserAgent;

my ($url, $count) = @ARGV;
my @pids;
for my $number (1 .. $count) {
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        my $answer = LWP::UserAgent->new(env_proxy => 1)->get($url . $number);
        print STDERR $answer->status_line, "\n" unless $answer->is_success;
        print $answer->decoded_content if $answer->is_success;
        exit !$answer->is_success;
    }
    push @pids, $pid;
}
waitpid($_, 0) for @pids;
