// What a document says it is: "schema": "trainyard/plan@1". Old versions are upgraded step by step
// when they are read; a newer one is refused, because guessing would be silent.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/io/json/json.h"

namespace trainyard {

/// One version step: a document of version v in, of v + 1 out (the "schema" member is set by the
/// caller).
using SchemaUpgrade = Json (*)(Json);

struct Schema {
  std::string_view kind;                         // "trainyard/plan"
  std::string_view what;                         // "a plan"
  std::span<const SchemaUpgrade> upgrades = {};  // from 1 to 2, from 2 to 3 ...; the version is
                                                 // their number plus 1
  int version() const { return static_cast<int>(upgrades.size()) + 1; }
};

/// Every kind of document we read or write.
std::span<const Schema> schemas();
/// Throws Error{InvalidInput} with the nearest kind.
const Schema& schema(std::string_view kind);
/// "trainyard/plan@1".
std::string schema_name(const Schema&);

/// Whether the document has a "schema" member of that kind, whatever its version.
bool has_schema(const Json&, std::string_view kind);
/// The document in the current version. Throws Error{InvalidInput} when "schema" is missing, of
/// another kind, of a newer version or not of the form KIND@VERSION.
Json upgraded(Json document, const Schema&, const std::string& source);
/// Parses and upgrades.
Json read_document(std::string_view text, std::string_view kind, const std::string& source);

}  // namespace trainyard
