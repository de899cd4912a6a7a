// SPDX-License-Identifier: Apache-2.0
// As much of JSON Schema as penstock.schema.json uses, and a YAML file as JSON. For tests of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/document.h"

namespace penstock::config {

using Json = nlohmann::json;

std::string file_text(const std::string& name);  ///< of the folder config/
Json schema();
Json to_json(const Node& node);

/// What `$ref` leads to, or the schema itself.
const Json& resolved(const Json& part, const Json& root);

/// Where `value` breaks the schema; empty: nowhere.
std::vector<std::string> violations(const Json& value, const Json& part, const Json& root,
                                    const std::string& path = "");

}  // namespace penstock::config
