#include "core/io/json/form.h"

#include <cmath>

namespace trainyard {
namespace {

template <class V>
Json as_it_is(const V& value) {
  return Json(value);
}

Json range_schema(const QuantityRange& of) {
  Json json = type_schema("number");
  json.set("minimum", of.low).set("maximum", of.high);
  return json;
}

}  // namespace

Json type_schema(const char* type) {
  Json json = Json::object();
  json.set("type", type);
  return json;
}

Json list_schema(Json items) {
  Json json = type_schema("array");
  json.set("items", std::move(items));
  return json;
}

Json constant_schema(std::string_view word) {
  Json json = Json::object();
  json.set("const", word);
  return json;
}

Json object_schema(Json::Object properties, const std::vector<std::string>& required) {
  Json json = type_schema("object");
  json.set("properties", std::move(properties));
  json.set("required", Json(Json::List(required.begin(), required.end())));
  json.set("additionalProperties", false);
  return json;
}

Json one_of_schema(Json::List forms) {
  Json json = Json::object();
  json.set("oneOf", std::move(forms));
  return json;
}

Json described(Json schema, std::string_view words) {
  schema.set("description", words);
  return schema;
}

Form<bool> truth() {
  return {type_schema("boolean"), as_it_is<bool>,
          [](const JsonCursor& at) { return at.boolean(); }};
}

Form<std::string> text() {
  return {type_schema("string"), as_it_is<std::string>,
          [](const JsonCursor& at) { return at.text(); }};
}

Form<std::string> one_of(const std::vector<std::string>& words, bool stated) {
  Form<std::string> form = text();
  form.read = [words](const JsonCursor& at) { return at.one_of(words); };
  if (stated) form.schema.set("enum", Json(Json::List(words.begin(), words.end())));
  return form;
}

Form<double> number() {
  return {type_schema("number"), as_it_is<double>,
          [](const JsonCursor& at) { return at.number(); }};
}

Form<double> number(const QuantityRange& of) {
  return {range_schema(of), as_it_is<double>,
          [of](const JsonCursor& at) { return quantity(at, of); }};
}

Form<double> finite_number() {
  return {Json::object(), [](double value) { return std::isfinite(value) ? Json(value) : Json(); }};
}

Form<std::int64_t> whole(std::int64_t low, std::int64_t high) {
  Form<std::int64_t> form = signed_whole();
  form.schema.set("minimum", low);
  form.read = [low, high](const JsonCursor& at) { return at.integer(low, high); };
  return form;
}

Form<std::int64_t> signed_whole() {
  return {type_schema("integer"), as_it_is<std::int64_t>,
          [](const JsonCursor& at) { return at.integer(); }};
}

Form<Duration> nearest_seconds() {
  return {range_schema(kSeconds),
          [](Duration d) { return Json(static_cast<double>(d.count()) / 1e9); }};
}

Form<Json> any(Json schema) { return {std::move(schema), as_it_is<Json>}; }

}  // namespace trainyard
