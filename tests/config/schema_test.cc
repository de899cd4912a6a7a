// SPDX-License-Identifier: Apache-2.0
// The schema for editors says what the reader does: the same keys, the same defaults, no file refused that is sound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "config/keys.h"
#include "config/schema_check.h"
#include "penstock/config.h"

namespace penstock::config {
namespace {

using Leaf = std::function<void(const std::vector<std::string>& path, const Json& part)>;

// Of several Redis each has the keys of one.
const Json& of_one(const Json& part, const Json& root) {
  const Json& whole = resolved(part, root);
  const bool may_be_one = !whole.contains("properties") && !whole.contains("additionalProperties") &&
                          whole.contains("anyOf") && resolved(whole["anyOf"][0], root).contains("properties");
  return may_be_one ? resolved(whole["anyOf"][0], root) : whole;
}

// Calls `each` for every key below `part`, sections too. The keys of any upstream stand under "NAME".
void walk(const Json& unresolved, const Json& root, const std::vector<std::string>& path, const Leaf& each) {
  const Json& part = of_one(unresolved, root);
  const auto below = [&](const std::string& key) {
    auto longer = path;
    longer.push_back(key);
    return longer;
  };
  const Json properties = part.value("properties", Json::object());
  for (const auto& [key, member] : properties.items()) {
    each(below(key), member);
    walk(member, root, below(key), each);
  }
  if (part.contains("additionalProperties") && part["additionalProperties"].is_object()) {
    walk(part["additionalProperties"], root, below("NAME"), each);
  }
  if (part.contains("items")) walk(part["items"], root, path, each);
}

std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const auto& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}

Json another_value(const std::vector<std::string>& path, const Json& part, const Json& root) {
  if (path.back() == "servers") return {"9.9.9.9"};
  if (path.back() == "names") return {"*.a.example"};
  if (path.back() == "url") return "redis://r1";
  if (path.back().ends_with("Ports")) return {8443};
  if (path.back() == "obey") return "off";
  if (path.back() == "pauseOn") return {420};
  if (path.back() == "redact") return {"/bot{}/"};
  if (path.back() == "unit") return "tokens";
  if (path.back() == "except") return {"insufficient_quota"};
  for (const auto& word : resolved(part, root).value("enum", Json::array())) {
    if (word != part.value("default", Json())) return word;
  }
  const std::string kind = part.value("$ref", "");
  if (kind.ends_with("/endpoint")) return "127.0.0.9:7";
  if (kind.ends_with("/duration") || kind.ends_with("/maxPause")) return "7s";
  if (kind.ends_with("/size")) return "5KiB";
  if (kind.ends_with("/percent")) return "7%";
  if (kind.ends_with("/networks") || kind.ends_with("/rules")) return {"10.0.0.0/8"};
  if (kind.ends_with("/count") || kind.ends_with("/maxConcurrent") || kind.ends_with("/maxWeight") ||
      kind.ends_with("/maxTunnels"))
    return 7;
  if (kind.ends_with("/rate")) return "7/s";
  if (kind.ends_with("/number")) return 1;
  if (kind.ends_with("/routes")) return Json::parse(R"([{"match": {"path": "/y"}}])");
  if (kind.ends_with("/limits")) return Json::parse(R"([{"counter": {"max": 1, "period": "1s"}}])");
  return "other";
}

// What must stand in a section.
Json least(const std::string& section, const Json& part, const Json& root) {
  Json keys = Json::object();
  for (const auto& key : part.value("required", Json::array()))
    keys[key.get<std::string>()] = another_value({section, key}, part["properties"][key.get<std::string>()], root);
  return keys;
}

// The smallest file, in JSON, which is YAML, in which the path may be set.
Json file_for(const std::vector<std::string>& path, const Json& root) {
  Json file{{"version", 1}};
  if (path[0] == "redis") file["redis"] = least("redis", root["definitions"]["redis"], root);
  if ((path[0] != "upstreams" && path[0] != "quotas") || path.size() < 3) return file;
  auto& upstream = file[path[0]][path[1]] = Json::object();
  if (path[0] == "upstreams" && path[1] == "NAME") upstream["match"] = "a.com";
  if (path[2] == "routes" && path.size() > 3) upstream["routes"] = Json::parse(R"([{"match": {"path": "/x"}}])");
  if ((path[2] == "cost" && path.size() > 3) || path.back() == "unit")
    upstream["cost"] = Json::parse(R"({"unit": "tokens", "estimate": "bytes/4", "actual": "openai"})");
  if (path[2] != "limits" || path.size() < 4) return file;
  upstream["group"] = "host";
  file["redis"]["url"] = "redis://r1";
  const auto& kind = root["definitions"]["limits"]["items"]["properties"][path[3]];
  upstream["limits"] = Json::array({{{path[3], least(path[3], kind, root)}}});
  return file;
}

Config read_with(Json file, const std::vector<std::string>& path, const Json& value) {
  std::string pointer;
  for (const auto& key : path)
    pointer += "/" + key + ((key == "limits" || key == "routes") && path.back() != key ? "/0" : "");
  file[Json::json_pointer(pointer)] = value;
  const auto config = read_config(file.dump(), "with");
  if (!config) ADD_FAILURE() << file.dump() << ": " << to_string(config.error().at(0));
  return config.value_or(Config{});
}

// What a route leaves out is as its upstream has it: of all its keys but one, that one's default counts.
bool inherits(const std::vector<std::string>& path) {
  return path.size() > 3 && path[2] == "routes" && path[3] != "weight";
}

bool is_section(const Json& part, const Json& root) { return of_one(part, root).contains("properties"); }

TEST(Schema, has_the_keys_that_the_reader_has_and_no_others) {
  const Json root = schema();
  std::vector<std::string> keys;
  walk(root, root, {}, [&](const auto& path, const Json&) {
    const auto key = joined(path);
    if (!key.starts_with("upstreams.*")) keys.push_back(key);
  });
  EXPECT_THAT(keys, testing::UnorderedElementsAreArray(known_keys()));
}

TEST(Schema, gives_the_entry_star_the_keys_of_any_upstream_but_those_that_name_a_place) {
  const Json root = schema();
  const Json& upstreams = root["properties"]["upstreams"];
  Json of_any = upstreams["additionalProperties"]["properties"];
  for (const char* of_a_place : {"match", "baseUrl", "permits", "quota", "preset", "plan"}) of_any.erase(of_a_place);
  of_any["https"]["$ref"] = "#/definitions/https";  // what is intercepted has a name
  of_any["pauseScope"]["default"] = "credentials";
  of_any["breaker"]["$ref"] = "#/definitions/breakerOfStar";  // off unless it is said
  EXPECT_EQ(upstreams["properties"]["*"]["properties"], of_any);
}

TEST(Schema, has_two_breakers_which_differ_in_their_defaults_only) {
  Json breaker = schema()["definitions"]["breaker"]["properties"];
  for (auto& key : breaker) key.erase("default");
  EXPECT_EQ(schema()["definitions"]["breakerOfStar"]["properties"], breaker);
}

TEST(Schema, has_the_dialects_that_there_are) {
  const Json dialects = schema()["definitions"]["obey"]["anyOf"][1]["items"]["enum"];
  EXPECT_EQ(dialects.get<std::vector<std::string>>(),
            (std::vector<std::string>{kDialectNames.begin(), kDialectNames.end()}));
}

TEST(Schema, has_the_defaults_of_the_settings_themselves) {
  const Json root = schema();
  walk(root, root, {}, [&](const std::vector<std::string>& path, const Json& part) {
    const bool has_one_value = part.contains("enum") && part["enum"].size() == 1;
    if (!part.contains("default") || has_one_value || inherits(path)) return;
    const Json file = file_for(path, root);
    const Config plain = read_with(file, path, another_value(path, part, root));
    const Config at_default = read_with(file, path, part["default"]);
    const Config wanted = read_config(file.dump(), "wanted").value();
    EXPECT_EQ(at_default, wanted) << joined(path);
    EXPECT_NE(plain, wanted) << joined(path) << " sets nothing";
  });
}

TEST(Schema, has_a_default_for_every_value_that_has_one) {
  const Json root = schema();
  const std::set<std::string> of_limits{"qps",    "reservoir",    "interval",        "max", "capacity",
                                        "period", "refillAmount", "refillFrequency", "name"};
  std::vector<std::string> without;
  walk(root, root, {}, [&](const std::vector<std::string>& path, const Json& part) {
    const auto key = joined(path);
    const bool plain = !is_section(part, root) && key != "upstreams" && !key.starts_with("upstreams.*");
    const bool of_limit = path.size() == 5 && path[2] == "limits" && of_limits.contains(path[4]);
    if (plain && !of_limit && !inherits(path) && !part.contains("default")) without.push_back(key);
  });
  EXPECT_THAT(without,
              testing::UnorderedElementsAre(
                  "version", "access.steering", "access.allow", "intercept.ca", "intercept.key", "redis.url",
                  "redis.user", "redis.password", "redis.tls.ca", "redis.tls.clientCert", "redis.tls.clientKey",
                  "redis.tls.serverName", "redis.sentinel.user", "redis.sentinel.password", "redis.sentinel.tls.ca",
                  "redis.sentinel.tls.clientCert", "redis.sentinel.tls.clientKey", "redis.sentinel.tls.serverName",
                  "redis.secret", "presets", "upstreams.NAME.preset", "upstreams.NAME.plan", "upstreams.NAME.match",
                  "upstreams.NAME.rate", "upstreams.NAME.redis", "upstreams.NAME.group", "upstreams.NAME.quota",
                  "quotas", "quotas.NAME.rate", "quotas.NAME.group", "quotas.NAME.redis", "quotas.NAME.cost.unit",
                  "quotas.NAME.cost.estimate", "quotas.NAME.cost.actual", "quotas.NAME.cost.max",
                  "upstreams.NAME.baseUrl", "upstreams.NAME.permits", "upstreams.NAME.tls.ca",
                  "upstreams.NAME.tls.clientCert", "upstreams.NAME.tls.clientKey", "upstreams.NAME.cost.unit",
                  "upstreams.NAME.cost.estimate", "upstreams.NAME.cost.actual", "upstreams.NAME.cost.max"));
}

TEST(Schema, accepts_the_files_that_come_with_penstock) {
  const Json root = schema();
  for (const auto* name : {"minimal.yaml", "reference.yaml", "container.yaml", "limits.yaml", "vendors.yaml"}) {
    const auto document = parse_document(file_text(name)).value();
    EXPECT_THAT(violations(to_json(document.root), root, root), testing::ElementsAre()) << name;
  }
}

void expect_refused_by_both(const Json& root, const char* text) {
  EXPECT_FALSE(violations(to_json(parse_document(text).value().root), root, root).empty()) << text;
  EXPECT_FALSE(read_config(text, "text")) << text;
}

TEST(Schema, refuses_what_the_reader_refuses) {
  const Json root = schema();
  for (const auto* text :
       {"{}",
        "{version: 2}",
        "{version: 1, proxi: {}}",
        "{version: 1, proxy: {grace: 30}}",
        "{version: 1, caps: {headerBytes: 64KB}}",
        "{version: 1, caps: {pipelined: many}}",
        "{version: 1, log: {level: loud}}",
        "{version: 1, unmatched: maybe}",
        "{version: 1, access: {deny: 10.0.0.1}}",
        "{version: 1, admin: {details: some}}",
        "{version: 1, admin: {page: 1}}",
        "{version: 1, log: {client: port}}",
        "{version: 1, proxy: {requestId: on}}",
        "{version: 1, defaults: {redact: ['/{}']}}",
        "{version: 1, upstreams: {a: {match: a, redact: '/bot{}/'}}}",
        "{version: 1, upstreams: {a: {match: a, redact: ['bot{}/']}}}",
        "{version: 1, upstreams: {a: {match: a, redact: ['/bot/']}}}",
        "{version: 1, upstreams: {a: {maxConcurrent: 3}}}",
        "{version: 1, upstreams: {a: {permits: false}}}",
        "{version: 1, upstreams: {a: {permits: 8}}}",
        "{version: 1, upstreams: {'*': {permits: true}}}",
        "{version: 1, upstreams: {a b: {match: a.com}}}",
        "{version: 1, upstreams: {'*': {match: a}}}",
        "{version: 1, upstreams: {'*': {baseUrl: 'https://a.com'}}}",
        "{version: 1, upstreams: {a: {baseUrl: a.com}}}",
        "{version: 1, upstreams: {a: {match: a.com, https: mitm}}}",
        "{version: 1, upstreams: {'*': {https: intercept}}}",
        "{version: 1, defaults: {https: intercept}}",
        "{version: 1, defaults: {retry: never}}",
        "{version: 1, defaults: {retry: {budget: 20}}}",
        "{version: 1, defaults: {retry: {failures: all}}}",
        "{version: 1, defaults: {breaker: off}}",
        "{version: 1, upstreams: {a: {match: a, breaker: on}}}",
        "{version: 1, upstreams: {a: {match: a, obey: [all]}}}",
        "{version: 1, upstreams: {a: {match: a, obey: []}}}",
        "{version: 1, upstreams: {a: {match: a, pauseOn: 429}}}",
        "{version: 1, upstreams: {a: {match: a, pauseScope: group}}}",
        "{version: 1, upstreams: {a: {match: a.com, tls: {cert: a.pem}}}}",
        "{version: 1, defaults: {tls: {ca: a.pem}}}",
        "{version: 1, proxy: {listen: 'localhost:80'}}",
        "{version: 1, upstreams: {a: {match: []}}}",
        "{version: 1, redis: {}}",
        "{version: 1, redis: {url: 'redis-cluster://r1'}}",
        "{version: 1, redis: {url: 'rediss://r1', tls: {cert: a.pem}}}",
        "{version: 1, upstreams: {a: {match: a, rate: 15}}}",
        "{version: 1, upstreams: {a: {match: a, group: x}}}",
        "{version: 1, upstreams: {a: {match: a, limits: {}}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{}]}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{pacer: {}}]}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{pacer: {qps: 1}, counter: {max: 1, period: 1s}}]}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{pacer: {qps: 1, mode: drop}}]}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{pacer: {qps: 1, name: 'a b'}}]}}}"}) {
    expect_refused_by_both(root, text);
  }
}

TEST(Schema, refuses_costs_that_the_reader_refuses) {
  const Json root = schema();
  for (const auto* text :
       {"{version: 1, upstreams: {a: {match: a, cost: tokens}}}", "{version: 1, upstreams: {a: {match: a, cost: {}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {unit: tokens}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {estimate: openai}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {unit: a b, estimate: openai}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {unit: tokens, estimate: OpenAI}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {unit: tokens, estimate: openai, max: 1.5}}}}",
        "{version: 1, upstreams: {a: {match: a, cost: {unit: tokens, estimate: openai, actual: [x]}}}}",
        "{version: 1, upstreams: {a: {match: a, limits: [{semaphore: {capacity: 1, unit: tokens}}]}}}",
        "{version: 1, defaults: {cost: {unit: tokens, estimate: openai}}}"}) {
    expect_refused_by_both(root, text);
  }
}

TEST(Schema, refuses_routes_that_the_reader_refuses) {
  const Json root = schema();
  for (const auto* text :
       {"{version: 1, upstreams: {a: {match: a, routes: {}}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{weight: 2}]}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{match: {}}]}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{match: {host: a}}]}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{match: {path: x}}]}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{match: {path: /x}, pauseOn: [429]}]}}}",
        "{version: 1, upstreams: {a: {match: a, routes: [{match: {path: /x}, queue: {maxPending: 3}}]}}}",
        "{version: 1, defaults: {routes: []}}"}) {
    expect_refused_by_both(root, text);
  }
}

TEST(Schema, lets_a_variable_stand_for_any_plain_value) {
  const Json root = schema();
  const auto* text =
      "{version: 1, proxy: {grace: '${G}', listen: '${L}'}, caps: {pipelined: '${P}', headerBytes: '${H}'}}";
  EXPECT_THAT(violations(to_json(parse_document(text).value().root), root, root), testing::ElementsAre());
}

}  // namespace
}  // namespace penstock::config
