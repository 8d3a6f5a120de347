#include "core/io/json/fields.h"

#include <stdexcept>

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
namespace {

void expect_keys(const JsonCursor& at, const std::vector<std::string>& keys, Diagnostics* found) {
  attempt(found, [&] {
    const Diagnostics unknown = at.unknown_keys(keys);
    if (found == nullptr) return throw_if_errors(unknown);
    found->insert(found->end(), unknown.begin(), unknown.end());
  });
}

[[noreturn]] void only_written(const std::string& key) {
  throw Error(Error::Kind::Internal, "the field \"" + key + "\" is written and never read");
}

// A field of a part, whose value is the part.
class PartKind final : public ValueKind {
 public:
  explicit PartKind(const AnyField& field) : ValueKind(false, false), put_(field.put) {}
  void write(const void* part, const ValueTarget& target) const override {
    put_(part, target.object, target.always);
  }
  void read(void*, const JsonCursor&) const override {}

 private:
  std::function<void(const void*, Json&, bool)> put_;
};

void hold_shared(AnyField& field, const std::shared_ptr<const ValuePlace>& place,
                 const std::shared_ptr<const ValueKind>& kind) {
  field.put = [place, kind, key = field.key](const void* t, Json& object, bool always) {
    place->write(t, *kind, {object, key, always});
  };
  if (kind->reads)
    field.take = [place, kind](void* t, const JsonCursor& at, Diagnostics*) {
      kind->read(place->in(t), at);
    };
}

}  // namespace

void ValueTarget::set(Json value) const { object.set(key, std::move(value)); }

ValueKind::~ValueKind() = default;
ValuePlace::~ValuePlace() = default;

AnyField::AnyField(std::string_view its_key) : key(its_key) {}
AnyField::AnyField(const AnyField&) = default;
AnyField::AnyField(AnyField&&) noexcept = default;
AnyField& AnyField::operator=(const AnyField&) = default;
AnyField& AnyField::operator=(AnyField&&) noexcept = default;
AnyField::~AnyField() = default;

void AnyField::hold(std::unique_ptr<const ValuePlace> place, std::unique_ptr<const ValueKind> kind,
                    const Json& its_schema) {
  schema = its_schema;
  if (kind->may_lack) presence = Presence::WhereSet;
  hold_shared(*this, std::move(place), std::move(kind));
}

void AnyField::nest(const AnyFields& members) {
  schema = members.schema();
  put = [members, name = key](const void* t, Json& json, bool always) {
    Json object = members.write(t);
    if (always || !object.as_object()->empty()) json.set(name, std::move(object));
  };
  take = [members](void* t, const JsonCursor& at, Diagnostics* found) {
    members.read(at, t, found);
  };
}

void AnyField::option(std::string_view words) { schema.set("description", words); }

AnyFields::AnyFields() = default;
AnyFields::AnyFields(const AnyFields&) = default;
AnyFields::AnyFields(AnyFields&&) noexcept = default;
AnyFields& AnyFields::operator=(const AnyFields&) = default;
AnyFields& AnyFields::operator=(AnyFields&&) noexcept = default;
AnyFields::~AnyFields() = default;

void AnyFields::add(const AnyField& field) { list.push_back(field); }

void AnyFields::add(const AnyFields& more) {
  list.insert(list.end(), more.list.begin(), more.list.end());
}

void AnyFields::add(const AnyFields& of_part, std::unique_ptr<const ValuePlace> part) {
  const std::shared_ptr<const ValuePlace> place = std::move(part);
  for (const AnyField& one : of_part.list) {
    AnyField field(one.key);
    field.schema = one.schema;
    field.presence = one.presence;
    hold_shared(field, place, std::make_shared<PartKind>(one));
    list.push_back(std::move(field));
  }
}

std::vector<std::string> AnyFields::keys() const {
  std::vector<std::string> keys;
  for (const AnyField& field : list) keys.push_back(field.key);
  return keys;
}

const AnyField& AnyFields::at(std::string_view key) const {
  for (const AnyField& field : list)
    if (field.key == key) return field;
  throw std::out_of_range("no field is called " + std::string(key));
}

Json AnyFields::schema() const {
  Json::Object properties;
  std::vector<std::string> required;
  for (const AnyField& field : list) {
    properties.push_back({field.key, field.schema});
    if (field.presence == Presence::Always) required.push_back(field.key);
  }
  return object_schema(std::move(properties), required);
}

Json AnyFields::write(const void* t) const {
  Json json = Json::object();
  for (const AnyField& field : list) field.put(t, json, field.presence != Presence::WhereSet);
  return json;
}

void AnyFields::read(const JsonCursor& at, void* t, Diagnostics* found) const {
  expect_keys(at, keys(), found);
  for (const AnyField& field : list)
    attempt(found, [&] {
      if (!field.take) only_written(field.key);
      if (field.presence == Presence::Always)
        field.take(t, at.at(field.key), found);
      else if (const auto value = at.find(field.key))
        field.take(t, *value, found);
    });
}

AnyField schema_field(std::string_view kind) {
  const std::string name = schema_name(schema(kind));
  AnyField field("schema");
  field.schema = constant_schema(name);
  field.put = [name](const void*, Json& object, bool) { object.set("schema", name); };
  // Reading has compared it before (read_document).
  field.take = [](void*, const JsonCursor&, Diagnostics*) {};
  return field;
}

}  // namespace fields_detail
}  // namespace trainyard
