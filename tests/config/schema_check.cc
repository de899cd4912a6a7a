// SPDX-License-Identifier: Apache-2.0
// See schema_check.h. A keyword that it does not know is a failure, so that nothing in the schema goes untested.
#include "config/schema_check.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace penstock::config {

namespace {

using Found = std::vector<std::string>;

bool is_integer(const Node& node) {
  return !node.quoted && !node.text.empty() && std::all_of(node.text.begin(), node.text.end(), ::isdigit);
}

bool is_decimal(const Node& node) { return !node.quoted && std::regex_match(node.text, std::regex("[0-9]+\\.[0-9]+")); }

Json scalar(const Node& node) {
  if (is_integer(node)) return std::stoll(node.text);
  if (is_decimal(node)) return std::stod(node.text);
  const bool truth = node.text == "true" || node.text == "false";
  return truth && !node.quoted ? Json(node.text == "true") : Json(node.text);
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  return type == "null" && value.is_null();
}

bool has_any_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types);
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); });
}

void append(Found& found, Found more) { found.insert(found.end(), more.begin(), more.end()); }

bool matches(const std::string& text, const Json& pattern) {
  return std::regex_search(text, std::regex(pattern.get<std::string>()));
}

Found in_members(const Json& value, const Json& part, const Json& root, const std::string& path) {
  Found found;
  const Json properties = part.value("properties", Json::object());
  const Json others = part.value("additionalProperties", Json(true));
  for (const auto& [key, member] : value.items()) {
    const std::string here = path + "/" + key;
    if (properties.contains(key)) {
      append(found, violations(member, properties[key], root, here));
    } else if (others.is_object()) {
      append(found, violations(member, others, root, here));
    } else if (others == false) {
      found.push_back(here + ": unknown");
    }
    const bool named = !part.contains("propertyNames") || matches(key, part["propertyNames"]["pattern"]);
    if (!named) found.push_back(here + ": name");
  }
  if (value.size() < part.value("minProperties", 0U)) found.push_back(path + ": minProperties");
  if (value.size() > part.value("maxProperties", value.size())) found.push_back(path + ": maxProperties");
  for (const auto& key : part.value("required", Json::array())) {
    if (!value.contains(key)) found.push_back(path + ": lacks " + key.get<std::string>());
  }
  return found;
}

Found in_items(const Json& value, const Json& part, const Json& root, const std::string& path) {
  Found found;
  if (value.size() < part.value("minItems", 0U)) found.push_back(path + ": minItems");
  for (const auto& item : value)
    append(found, violations(item, part.value("items", Json::object()), root, path + "[]"));
  return found;
}

bool any_fits(const Json& value, const Json& choices, const Json& root) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const Json& choice) { return violations(value, choice, root).empty(); });
}

void check_known(const Json& part) {
  static const std::set<std::string> known{"$schema",
                                           "$id",
                                           "$comment",
                                           "$ref",
                                           "title",
                                           "description",
                                           "default",
                                           "definitions",
                                           "type",
                                           "required",
                                           "properties",
                                           "items",
                                           "minItems",
                                           "minimum",
                                           "pattern",
                                           "propertyNames",
                                           "const",
                                           "enum",
                                           "additionalProperties",
                                           "anyOf",
                                           "minProperties",
                                           "maxProperties"};
  for (const auto& [keyword, unused] : part.items()) {
    if (!known.contains(keyword)) throw std::runtime_error("unknown schema keyword " + keyword);
  }
}

}  // namespace

std::string file_text(const std::string& name) {
  std::ifstream stream(std::string(PENSTOCK_CONFIG_DIR "/") + name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Json schema() { return Json::parse(file_text("penstock.schema.json")); }

Json to_json(const Node& node) {
  if (node.kind == Node::Kind::scalar) return scalar(node);
  if (node.kind == Node::Kind::null) return nullptr;
  Json json = node.kind == Node::Kind::list ? Json::array() : Json::object();
  for (const auto& item : node.items) json.push_back(to_json(item));
  for (const auto& entry : node.entries) json[entry.key.text] = to_json(entry.value);
  return json;
}

const Json& resolved(const Json& part, const Json& root) {
  if (!part.contains("$ref")) return part;
  const auto name = part["$ref"].get<std::string>().substr(1);  // without the #
  return resolved(root.at(Json::json_pointer(name)), root);
}

std::vector<std::string> violations(const Json& value, const Json& unresolved, const Json& root,
                                    const std::string& path) {
  check_known(unresolved);
  const Json& part = resolved(unresolved, root);
  check_known(part);
  Found found;
  const auto demand = [&](bool fits, const std::string& what) {
    if (!fits) found.push_back(path + ": " + what);
  };
  if (part.contains("type")) demand(has_any_type(value, part["type"]), "type");
  if (part.contains("const")) demand(value == part["const"], "const");
  if (part.contains("enum")) demand(std::count(part["enum"].begin(), part["enum"].end(), value) == 1, "enum");
  if (part.contains("pattern") && value.is_string()) demand(matches(value, part["pattern"]), "pattern");
  if (part.contains("minimum") && value.is_number()) demand(value >= part["minimum"], "minimum");
  if (part.contains("anyOf")) demand(any_fits(value, part["anyOf"], root), "anyOf");
  if (value.is_object()) append(found, in_members(value, part, root, path));
  if (value.is_array()) append(found, in_items(value, part, root, path));
  return found;
}

}  // namespace penstock::config
