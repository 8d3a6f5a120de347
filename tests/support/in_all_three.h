// A list of fields is the one place where a document's members are named, so that each of them must
// be found in the schema, in what is written and in what is read.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/io/json/fields.h"
#include "tests/support/conforms.h"

namespace trainyard::testing {

/// Returns the value without one of its members, or one of theirs, each in turn, but never without
/// the member `kept`.
inline std::vector<Json> with_one_member_less(const Json& json, std::string_view kept) {
  std::vector<Json> all;
  if (const Json::Object* members = json.as_object()) {
    for (std::size_t i = 0; i < members->size(); ++i) {
      if ((*members)[i].key == kept) continue;
      Json::Object rest = *members;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      all.emplace_back(std::move(rest));
      for (Json& inner : with_one_member_less((*members)[i].value, kept))
        all.push_back(Json(json).set((*members)[i].key, std::move(inner)));
    }
  } else if (const Json::List* items = json.as_list()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      for (Json& inner : with_one_member_less((*items)[i], kept)) {
        Json::List changed = *items;
        changed[i] = std::move(inner);
        all.emplace_back(std::move(changed));
      }
  }
  return all;
}

/// Expects that the value has every member that its schema has.
inline void has_all_members(const Json& json, const Json& schema, const std::string& where) {
  if (const Json* properties = schema.find("properties"))
    for (const JsonMember& property : *properties->as_object()) {
      const Json* member = json.find(property.key);
      ASSERT_NE(member, nullptr) << where << " lacks " << property.key;
      has_all_members(*member, property.value, where + "/" + property.key);
    }
  if (const Json* items = schema.find("items"); items && json.as_list())
    for (const Json& item : *json.as_list()) has_all_members(item, *items, where + "/-");
}

/// `full` has everything that may be absent, and nothing at its default but the member at_default.
/// Then each member is in the schema, the whole reads back the same, and without any of its members
/// it is refused or reads as something else, so that the reader knows them all.
template <class T>
void is_in_all_three(const Fields<T>& fields, const T& full, std::string_view at_default = "") {
  const Json json = fields.write(full);
  conforms(json, fields.schema(), "document");
  has_all_members(json, fields.schema(), "document");
  const auto again = [&](const Json& document) {
    T read{};
    fields.read(JsonCursor(document, "document"), read);
    return write_json(fields.write(read));
  };
  EXPECT_EQ(again(json), write_json(json));
  for (const Json& less : with_one_member_less(json, at_default)) {
    std::string read;
    try {
      read = again(less);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::InvalidInput) << error.what();
    }
    EXPECT_NE(read, write_json(json)) << write_json(less);
  }
}

}  // namespace trainyard::testing
