// Checks whether a document conforms to its JSON Schema.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/io/json/json.h"

namespace trainyard {

/// The part of JSON Schema that our schemas use.
inline void conforms(const Json& value, const Json& schema, const std::string& where) {
  if (const Json* type = schema.find("type")) {
    const std::string& name = *type->text();
    EXPECT_TRUE((name == "object" && value.as_object()) || (name == "array" && value.as_list()) ||
                (name == "string" && value.text()) || (name == "boolean" && value.boolean()) ||
                (name == "integer" && value.integer()) ||
                (name == "number" && (value.real() || value.integer())))
        << where << " is not of type " << name;
  }
  if (const Json* required = schema.find("required")) {
    for (const Json& key : *required->as_list())
      EXPECT_TRUE(value.find(*key.text())) << where << " lacks " << *key.text();
  }
  if (const Json* properties = schema.find("properties"); properties && value.as_object())
    for (const JsonMember& member : *value.as_object()) {
      const Json* own = properties->find(member.key);
      EXPECT_TRUE(own) << where << " has a key that its schema does not know: " << member.key;
      if (own) conforms(member.value, *own, where + "/" + member.key);
    }
  if (const Json* items = schema.find("items"); items && value.as_list())
    for (const Json& item : *value.as_list()) conforms(item, *items, where + "/-");
}

}  // namespace trainyard
