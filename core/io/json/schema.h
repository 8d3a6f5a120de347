// A Schema is what a document says it is: "schema": "trainyard/plan@1". Old versions are upgraded
// step by step when they are read. A newer version is refused, because guessing its meaning could
// go wrong unnoticed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/io/json/json.h"

namespace trainyard {

/// A SchemaUpgrade is one version step: it takes a document of version v and returns one of v + 1
/// (the caller sets the "schema" member).
using SchemaUpgrade = Json (*)(Json);

struct Schema {
  std::string_view kind;                         // "trainyard/plan"
  std::string_view what;                         // "a plan"
  std::span<const SchemaUpgrade> upgrades = {};  // from 1 to 2, from 2 to 3 ...; the current
                                                 // version is their number plus 1
  int version() const { return static_cast<int>(upgrades.size()) + 1; }
};

/// Returns every kind of document that Trainyard reads or writes.
std::span<const Schema> schemas();
/// Throws Error{InvalidInput} with the nearest kind.
const Schema& schema(std::string_view kind);
/// Returns "trainyard/plan@1".
std::string schema_name(const Schema&);

/// Returns whether the document has a "schema" member of that kind, in any version.
bool has_schema(const Json&, std::string_view kind);
/// Returns the document in the current version. Throws Error{InvalidInput} when "schema" is
/// missing, of another kind, of a newer version or not of the form KIND@VERSION.
Json upgraded(Json document, const Schema&, const std::string& source);
/// Parses and upgrades a document.
Json read_document(std::string_view text, std::string_view kind, const std::string& source);

}  // namespace trainyard
