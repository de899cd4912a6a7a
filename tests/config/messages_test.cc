// SPDX-License-Identifier: Apache-2.0
// What faulty configurations are told: the place, the cause and the remedy, for the mistakes that people make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock {
namespace {

/// A file's text behind `version: 1`, so from line 2 on, and the errors that it has.
struct Mistake {
  std::string text;
  std::vector<std::string> told;
};

/// The same inside an upstream `a`, from line 5 on.
Mistake in_upstream(const std::string& text, const std::vector<std::string>& told) {
  return {"upstreams:\n  a:\n    match: a.test\n    " + text + "\n", told};
}

const std::vector<Mistake> kMistakes{
    // The top of a file.
    {"listen: 127.0.0.1:3128\n", {"2:1: unknown key 'listen'; it belongs in proxy, or in admin"}},
    {"port: 3128\n", {"2:1: unknown key 'port'; the port is a part of proxy.listen, as in 127.0.0.1:3128"}},
    {"include: other.yaml\n", {"2:1: unknown key 'include'; there is no such thing: a configuration is one file"}},
    {"limits: []\n",
     {"2:1: unknown key 'limits'; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } }"}},
    {"rate: 5/s\n",
     {"2:1: unknown key 'rate'; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } }"}},
    {"maxConcurrent: 5\n", {"2:1: unknown key 'maxConcurrent'; it belongs to an upstream, or in defaults"}},
    {"upstream: {}\n", {"2:1: unknown key 'upstream'; did you mean 'upstreams'?"}},
    {"version: 1\n", {"2:1: duplicate key 'version'; the first is in line 1"}},
    {"redis: redis://127.0.0.1:6379\n",
     {"2:8: redis must hold keys, as in 'key: value'; write redis: { url: redis://127.0.0.1:6379 }"}},
    {"redis: { host: 10.0.0.1 }\n",
     {"2:8: redis has no url, as in url: redis://127.0.0.1:6379/0",
      "2:10: unknown key 'host' in redis; it is a part of url, as in redis://HOST:6379/0"}},
    {"redis: { url: http://10.0.0.1 }\n",
     {"2:15: url in redis: it must begin with redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or "
      "unix://"}},
    {"proxy: 3128\n", {"2:8: proxy must hold keys, as in 'key: value'"}},
    {"proxy: { listen: 3128 }\n",
     {"2:18: listen in proxy: '3128' is not address:port, such as 127.0.0.1:3128 or [::1]:3128"}},
    {"proxy: { listen: 'localhost:3128' }\n",
     {"2:18: listen in proxy: 'localhost:3128' is not address:port, such as 127.0.0.1:3128 or [::1]:3128"}},
    {"proxy: { grace: 30 }\n", {"2:17: grace in proxy: '30' needs a unit, as in 250ms, 30s or 5m (us ms s m h d)"}},
    {"log: { level: verbose }\n", {"2:15: level in log must be debug, info, warn, error or off"}},
    {"log: { client: ip }\n", {"2:16: client in log must be address, full or off"}},
    {"admin: { details: none }\n", {"2:19: details in admin must be loopback, all or off"}},
    {"admin: { page: no }\n", {"2:16: page in admin must be on or off"}},
    {"proxy: { requestId: on }\n", {"2:21: requestId in proxy must be true or false"}},
    {"redact: ['/bot{}/']\n",
     {"2:1: unknown key 'redact'; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } }"}},
    {"defaults: { redact: ['/bot{}/'] }\n",
     {"2:13: unknown key 'redact' in defaults; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } "
      "}"}},
    in_upstream("redact: /bot{}/", {"5:13: redact in upstreams.a must be a list; write [] for an empty one"}),
    in_upstream("redact: ['/a/{}', 'bot{}/']",
                {"5:23: redact in upstreams.a: 'bot{}/' must begin with /, as in /bot{}/"}),
    in_upstream("redact: [/services/]",
                {"5:14: redact in upstreams.a: '/services/' has no {}; mark what is secret, as in /services/{}"}),
    in_upstream("redact: ['/bot{token}/']", {"5:14: redact in upstreams.a: '/bot{token}/' has a { without a } behind "
                                             "it; a secret part is {}, without a name"}),
    in_upstream("redact: ['/a{}/{}b}']",
                {"5:14: redact in upstreams.a: '/a{}/{}b}' has a '}', which is not of a path"}),
    in_upstream("redact: ['/v*/{}']",
                {"5:14: redact in upstreams.a: '/v*/{}' has a *; the pattern is looked for at each "
                 "segment, and {} is any text"}),
    in_upstream("redact: ['/b%6ft{}/']", {"5:14: redact in upstreams.a: '/b%6ft{}/' has a %; write the letter itself, "
                                          "which matches in either form"}),
    in_upstream("redact: ['/a{}{}']", {"5:14: redact in upstreams.a: '/a{}{}' has two {} in a row; one is enough"}),
    in_upstream("redact: ['//a{}']", {"5:14: redact in upstreams.a: '//a{}' has an empty segment"}),
    in_upstream("redact: ['/a{}?b']", {"5:14: redact in upstreams.a: '/a{}?b' has a '?', which is not of a path"}),
    {"access: { clients: 10.0.0.0/8 }\n", {"2:20: clients in access must be a list; write [] for an empty one"}},
    {"access: { clients: [10.0.0.0/33] }\n",
     {"2:21: clients in access: '10.0.0.0/33' has a prefix that does not fit its address; it may be /0 to /32"}},
    {"caps: { headerBytes: 64 }\n",
     {"2:22: headerBytes in caps: '64' needs a unit, as in 512B, 64KiB or 1GiB (B KiB MiB GiB)"}},
    // Names and patterns.
    {"upstreams:\n  a: { maxConcurrent: 2 }\n",
     {"3:3: upstreams.a has no match: say which hosts are its own, as in match: api.example.com"}},
    {"upstreams:\n  a:\n    match:a.test\n",
     {"4:5: a in upstreams must hold keys, as in 'key: value'; a blank must follow the colon: match: a.test"}},
    {"upstreams:\n  a: { match: 'https://a.test' }\n",
     {"3:15: match in upstreams.a: 'https://a.test': write it without the scheme, as in api.example.com/v1"}},
    {"upstreams:\n  a: { match: 'a.test?x' }\n",
     {"3:15: match in upstreams.a: 'a.test?x': a pattern ends with the path: no query, no fragment"}},
    {"upstreams:\n  a: { match: '*' }\n",
     {"3:15: match in upstreams.a: '*': what nothing else matches is set by the entry named \"*\""}},
    {"upstreams:\n  a: { match: a.test }\n  b: { match: a.test }\n",
     {"4:15: match in upstreams.b: 'a.test' is already a pattern of upstreams.a"}},
    {"upstreams:\n  a b: { match: a.test }\n", {"3:3: the name 'a b' may have only letters, digits and _.-"}},
    {"upstreams:\n  a: { match: *.a.test }\n",
     {"3:15: not YAML: the referenced anchor is not defined; a value that begins with * needs quotes, as in "
      "\"*.example.com\""}},
    in_upstream("maxConcurent: 5", {"5:5: unknown key 'maxConcurent' in upstreams.a; did you mean 'maxConcurrent'?"}),
    in_upstream("maxConcurrent: 0", {"5:20: maxConcurrent in upstreams.a is 0; it must be between 1 and 100000"}),
    in_upstream("maxConcurrent: many", {"5:20: maxConcurrent in upstreams.a: 'many' is not a plain number, as in 20"}),
    in_upstream("https: yes", {"5:12: https in upstreams.a must be tunnel, originate or intercept"}),
    in_upstream("baseUrl: api.a.test",
                {"5:14: baseUrl in upstreams.a: it begins with https:// or http://, as in https://api.example.com/v1"}),
    in_upstream("group: tenant",
                {"5:12: group in upstreams.a: 'tenant': it must be path:/a/{name}, header:NAME, json:PATH or host"}),
    // Durations.
    in_upstream("queue: { maxWait: 1m30s }", {"5:23: maxWait in upstreams.a.queue: '1m30s' has several units; write it "
                                              "with one, as 90s"}),
    in_upstream("queue: { maxWait: 30 seconds }",
                {"5:23: maxWait in upstreams.a.queue: '30 seconds' is not a plain number with a unit, as in 250ms, 30s "
                 "or 5m (us ms s m h d)"}),
    in_upstream("queue: { timeout: 5s }", {"5:14: unknown key 'timeout' in upstreams.a.queue; here it is 'maxWait'"}),
    in_upstream("maxPause: 2d", {"5:15: maxPause in upstreams.a is 2d; it must be between 0s and 24h"}),
    // Refusals and failures.
    {"obey: off\n",
     {"2:1: unknown key 'obey'; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } }"}},
    in_upstream("obey: openai", {"5:11: obey in upstreams.a: a dialect stands in a list, as in [retryAfter, openai]"}),
    in_upstream("obey: all", {"5:11: obey in upstreams.a must be auto, retryAfter or off"}),
    in_upstream("obey: []", {"5:11: obey in upstreams.a is empty; write off to obey nothing"}),
    in_upstream("obey: [retryAfter, opnai]",
                {"5:24: obey in upstreams.a: there is no dialect 'opnai'; did you mean 'openai'?"}),
    in_upstream("obey: [github]",
                {"5:12: obey in upstreams.a: there is no dialect 'github'; there are retryAfter, retryAfterMs, "
                 "rateLimit, xRateLimit, openai, anthropic, hubspot, linear, shopify"}),
    in_upstream("pauseOn: 429", {"5:14: pauseOn in upstreams.a must be a list; write [] for an empty one"}),
    in_upstream("pauseOn: [429, 200]", {"5:20: pauseOn in upstreams.a is 200; it must be between 400 and 599"}),
    in_upstream("learn: true", {"5:12: learn in upstreams.a must be off or on"}),
    in_upstream("pauseScope: group", {"5:17: pauseScope in upstreams.a must be upstream or credentials"}),
    in_upstream("retry: never", {"5:12: retry in upstreams.a must be off, or hold keys, as in retry: { attempts: 3 }"}),
    in_upstream("retry: [off]", {"5:12: retry in upstreams.a must be off, or hold keys, as in retry: { attempts: 3 }"}),
    in_upstream("retry: { maxAttempts: 3 }",
                {"5:14: unknown key 'maxAttempts' in upstreams.a.retry; here it is 'attempts', with the first one "
                 "among them"}),
    in_upstream("retry: { attempts: 0 }", {"5:24: attempts in upstreams.a.retry is 0; it must be between 1 and 100"}),
    in_upstream("retry: { failures: all }", {"5:24: failures in upstreams.a.retry must be off, safe or idempotent"}),
    in_upstream("retry: { budget: 20 }", {"5:22: budget in upstreams.a.retry: '20' needs a unit; write 20%"}),
    in_upstream("retry: { budget: 1.5% }",
                {"5:22: budget in upstreams.a.retry: '1.5%' is not a whole percentage, as in 20%"}),
    in_upstream("retry: { budget: 200% }",
                {"5:22: budget in upstreams.a.retry: '200%' is more than all; it may be 0% to 100%"}),
    in_upstream("retry: { except: [no money] }",
                {"5:23: except in upstreams.a.retry: 'no money' is no code; it may have up to 64 letters, digits and "
                 "_.-, as in insufficient_quota"}),
    in_upstream("breaker: { threshold: 3 }",
                {"5:16: unknown key 'threshold' in upstreams.a.breaker; here it is 'failures', in a row"}),
    in_upstream("breaker: { maxPause: 2h }",
                {"5:26: maxPause in upstreams.a.breaker is 2h; it must be between 100ms and 60m"}),
    // Limits.
    in_upstream("rate: 15",
                {"5:11: rate in upstreams.a: '15' is not a rate, as in 15/s, 900/m, 100/h, 5000/d or 300/15m"}),
    in_upstream("limits: { window: {} }", {"5:13: limits in upstreams.a must be a list, as in '- pacer: { qps: 10 }'"}),
    in_upstream("limits: [ leakyBucket: { capacity: 40 } ]",
                {"5:15: unknown key 'leakyBucket' in upstreams.a.limits; here it is 'tokenBucket'"}),
    in_upstream("limits: [ rate: 5/s ]",
                {"5:15: unknown key 'rate' in upstreams.a.limits; it stands beside limits, as in rate: 15/s"}),
    in_upstream("limits: [ window: { max: 5 } ]",
                {"5:25: unknown key 'max' in upstreams.a.limits.window; here it is 'reservoir'"}),
    in_upstream("limits: [ window: { reservoir: 5 } ]",
                {"5:23: interval in upstreams.a.limits.window is missing; it must be between 10ms and 366d"}),
    in_upstream("limits: [ pacer: { qps: 5 }, pacer: { qps: 9 } ]",
                {"5:41: two limits of upstreams.a are named 'pacer'; give one a name"}),
    // YAML itself.
    {"upstreams:\n  a:\n     match: a.test\n    maxConcurrent: 1\n",
     {"5:5: not YAML: this line is indented otherwise than the lines above that it belongs to"}},
    {"upstreams: { a: { match: a.test }\nredis: { url: redis://h }\n", {"2:12: not YAML: this { is never closed"}},
    {"upstreams:\n\ta: { match: a.test }\n", {"3:3: not YAML: illegal map value; indent with blanks, not with tabs"}},
    {"proxy: { via: 'x }\n", {"2:15: this quote is never closed"}},
};

TEST(Messages, say_the_place_the_cause_and_the_remedy) {
  EXPECT_EQ(kMistakes.size(), 85u);
  for (const auto& [text, told] : kMistakes) {
    const auto config = read_config("version: 1\n" + text, "f", [](const std::string&) { return std::nullopt; });
    ASSERT_FALSE(config) << text;
    std::vector<std::string> errors;
    for (const auto& error : config.error()) errors.push_back(to_string(error).substr(2));
    EXPECT_EQ(errors, told) << text;
  }
}

}  // namespace
}  // namespace penstock
