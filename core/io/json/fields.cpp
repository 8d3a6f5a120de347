#include "core/io/json/fields.h"

namespace trainyard {

Json document_schema(Json object) {
  object.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  object.set("title", *object.find("properties")->find("schema")->find("const"));
  return object;
}

void attempt(Diagnostics* found, const std::function<void()>& f) {
  if (found == nullptr) return f();
  try {
    f();
  } catch (const Error& error) {
    found->push_back({Diagnostic::Severity::Error, error.what(), error.place(), ""});
  }
}

namespace fields_detail {

void expect_keys(const JsonCursor& at, const std::vector<std::string>& keys, Diagnostics* found) {
  attempt(found, [&] {
    const Diagnostics unknown = at.unknown_keys(keys);
    if (found == nullptr) return throw_if_errors(unknown);
    found->insert(found->end(), unknown.begin(), unknown.end());
  });
}

void only_written(const std::string& key) {
  throw Error(Error::Kind::Internal, "the field \"" + key + "\" is written and never read");
}

}  // namespace fields_detail
}  // namespace trainyard
