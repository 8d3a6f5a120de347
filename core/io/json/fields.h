// The fields of a document, each named once: the JSON Schema, the writer and the reader of an
// object all follow from one list, so that none of the three can lack a field.
//
//  const Fields<Point>& point_fields() {
//    static const Fields<Point> fields = {{"name", &Point::name, kWhereSet,
//                                           "as the user wrote it"},
//                                          {"bytes", &Point::bytes},
//                                          {"share", &Point::share, number(kShare)}};
//    return fields;
//  }
//
// A field is a key, the value's place in a T (a member, or a function of a T), and behind them in
// any order: its form, where the type of the value does not say it; when it is there; words for the
// schema; and a function that reads it into a T, where assigning what the form reads does not do.
// A field whose value is calculated is written and not read.
#pragma once

#include <initializer_list>
#include <optional>
#include <stdexcept>

#include "core/io/json/form.h"
#include "core/io/json/schema.h"

namespace trainyard {

enum class Presence {
  Always,     // it is written, and its absence is an error
  Defaulted,  // it is written; where it is absent the T keeps what it has
  WhereSet,   // the same, but it is written only where it is not empty, 0, false, null or invalid;
              // a std::optional and a pointer are so by themselves
};
inline constexpr Presence kDefaulted = Presence::Defaulted, kWhereSet = Presence::WhereSet;

/// Returns the place of a member in a part, which is a member or what a function refers to.
template <class Outer, class Inner>
auto in(Outer outer, Inner inner) {
  return [=](auto& t) -> decltype(auto) {
    using Part = decltype(std::invoke(outer, t));
    static_assert(std::is_reference_v<Part> || std::is_pointer_v<Part>, "the part would be gone");
    return std::invoke(inner, std::invoke(outer, t));
  };
}

template <class T>
class Fields;

template <class T>
struct JsonField {
  std::string key;
  Json schema;
  Presence presence = Presence::Always;
  /// `always` writes an empty value too.
  std::function<void(const T&, Json& object, bool always)> write;
  /// Reads the value at its own place; none where it is only written.
  std::function<void(T&, const JsonCursor&, Diagnostics*)> read;

  template <class Of, class... Options>
  JsonField(std::string its_key, const Of& of, const Options&... options);

 private:
  template <class Option>
  void take(const Option& option);
};

/// The members of an object in the order in which they are read.
template <class T>
class Fields {
 public:
  Fields() = default;
  Fields(std::initializer_list<JsonField<T>> list) : list_(list) {}

  const std::vector<JsonField<T>>& list() const { return list_; }
  std::vector<std::string> keys() const;
  /// Throws std::out_of_range where there is no field of that key.
  const JsonField<T>& at(std::string_view key) const;
  void add(JsonField<T> field) { list_.push_back(std::move(field)); }
  void add(const Fields& more) { list_.insert(list_.end(), more.list_.begin(), more.list_.end()); }
  /// Adds all fields of a part of a T, which are then only written.
  template <class Part, class Of>
  void add(const Fields<Part>& part, Of of);

  Json schema() const;
  Json write(const T&) const;
  /// Reads into an object, which keeps what the document leaves out. Throws Error{InvalidInput} for
  /// the first error; with `found` errors are added to it instead.
  void read(const JsonCursor&, T&, Diagnostics* found = nullptr) const;
  T read(const JsonCursor&) const;

 private:
  std::vector<JsonField<T>> list_;
};

/// Returns the form of an object with these fields.
template <class T>
Form<T> object(const Fields<T>& fields) {
  Form<T> form{fields.schema(), [fields](const T& t) { return fields.write(t); }};
  if constexpr (std::is_default_constructible_v<T>)
    form.read = [fields](const JsonCursor& at) { return fields.read(at); };
  return form;
}

/// Returns the fields of a whole document: the member "schema", and these.
template <class T>
Fields<T> document_fields(std::string_view kind, const Fields<T>& members);
/// Reads a whole document of that kind.
template <class T>
T read_fields(const Fields<T>&, std::string_view text, std::string_view kind,
              const std::string& source);
/// Returns the JSON Schema of a whole document, whose members have this schema.
Json document_schema(Json object);
/// Runs f; where `found` is given, an Error becomes one of its diagnostics.
void attempt(Diagnostics* found, const std::function<void()>& f);

// What follows says how.

namespace fields_detail {

/// What may be absent: a std::optional, or a pointer to what is written where there is one.
template <class X>
struct Absent : std::false_type {
  using Value = X;
};
template <class X>
struct Absent<std::optional<X>> : std::true_type {
  using Value = X;
};
template <class X>
struct Absent<const X*> : std::negation<std::is_same<X, char>> {
  using Value = std::conditional_t<std::is_same_v<X, char>, const char*, X>;
};
template <class X>
struct IsForm : std::false_type {};
template <class V>
struct IsForm<Form<V>> : std::true_type {};
template <class X>
struct IsFields : std::false_type {};
template <class T>
struct IsFields<Fields<T>> : std::true_type {};

template <class X>
bool is_set(const X& x) {
  if constexpr (requires { x.has_value(); })
    return x.has_value();
  else if constexpr (requires { x.valid(); })
    return x.valid();
  else if constexpr (requires { x.empty(); })
    return !x.empty();
  else if constexpr (requires { x != X{}; })
    return x != X{};
  else
    return true;
}

/// Returns the first argument that is a form, or the form of an X.
template <class X>
auto pick_form() {
  return form_of<X>();
}
template <class X, class First, class... Rest>
auto pick_form(const First& first, const Rest&... rest) {
  if constexpr (IsForm<First>::value)
    return first;
  else
    return pick_form<X>(rest...);
}

void expect_keys(const JsonCursor&, const std::vector<std::string>&, Diagnostics* found);
[[noreturn]] void only_written(const std::string& key);

}  // namespace fields_detail

template <class T>
template <class Of, class... Options>
JsonField<T>::JsonField(std::string its_key, const Of& of, const Options&... options)
    : key(std::move(its_key)) {
  namespace detail = fields_detail;
  if constexpr (detail::IsFields<Of>::value) {
    // An object whose fields are those of the T itself.
    schema = of.schema();
    write = [of, name = key](const T& t, Json& json, bool always) {
      Json members = of.write(t);
      if (always || !members.as_object()->empty()) json.set(name, std::move(members));
    };
    read = [of](T& t, const JsonCursor& at, Diagnostics* found) { of.read(at, t, found); };
  } else {
    using Got = std::invoke_result_t<const Of&, T&>;
    using X = std::remove_cvref_t<Got>;
    constexpr bool kOptional = detail::Absent<X>::value;
    using Inner = typename detail::Absent<X>::Value;
    const auto form = detail::pick_form<Inner>(options...);
    using V = typename std::remove_cvref_t<decltype(form)>::Value;
    schema = form.schema;
    if (kOptional) presence = Presence::WhereSet;
    write = [of, put = form.write, name = key](const T& t, Json& json, bool always) {
      const auto& x = std::invoke(of, t);
      if ((kOptional || !always) && !detail::is_set(x)) return;
      if constexpr (kOptional)
        json.set(name, put(plain<V>(*x)));
      else
        json.set(name, put(plain<V>(x)));
    };
    // Words of an enumeration and seconds are read by a form of that type only, and a view keeps
    // nothing that is read.
    constexpr bool kOneWay = std::is_enum_v<Inner> || std::is_same_v<Inner, Duration> ||
                             std::is_same_v<Inner, std::string_view> || std::is_same_v<V, Json>;
    if constexpr ((std::is_same_v<V, Inner> || !kOneWay) && std::is_lvalue_reference_v<Got> &&
                  !std::is_const_v<std::remove_reference_t<Got>>)
      if (form.read)
        read = [of, take = form.read](T& t, const JsonCursor& at, Diagnostics*) {
          std::invoke(of, t) = from_plain<Inner>(take(at));
        };
  }
  (take(options), ...);
}

template <class T>
template <class Option>
void JsonField<T>::take(const Option& option) {
  if constexpr (std::is_same_v<Option, Presence>)
    presence = option;
  else if constexpr (std::is_convertible_v<Option, std::string_view>)
    schema.set("description", std::string_view(option));
  else if constexpr (std::is_invocable_v<Option, T&, const JsonCursor&>)
    read = [option](T& t, const JsonCursor& at, Diagnostics*) { option(t, at); };
  else
    static_assert(fields_detail::IsForm<Option>::value, "an option of a field");
}

template <class T>
template <class Part, class Of>
void Fields<T>::add(const Fields<Part>& part, Of of) {
  for (const JsonField<Part>& one : part.list()) {
    JsonField<T> field(one.key, [](const T&) { return Json(); }, any(one.schema), one.presence);
    field.write = [of, write = one.write](const T& t, Json& json, bool always) {
      write(std::invoke(of, t), json, always);
    };
    add(std::move(field));
  }
}

template <class T>
Json Fields<T>::schema() const {
  Json::Object properties;
  std::vector<std::string> required;
  for (const JsonField<T>& field : list_) {
    properties.push_back({field.key, field.schema});
    if (field.presence == Presence::Always) required.push_back(field.key);
  }
  return object_schema(std::move(properties), required);
}

template <class T>
Json Fields<T>::write(const T& t) const {
  Json json = Json::object();
  for (const JsonField<T>& field : list_)
    field.write(t, json, field.presence != Presence::WhereSet);
  return json;
}

template <class T>
void Fields<T>::read(const JsonCursor& at, T& t, Diagnostics* found) const {
  fields_detail::expect_keys(at, keys(), found);
  for (const JsonField<T>& field : list_)
    attempt(found, [&] {
      if (!field.read) fields_detail::only_written(field.key);
      if (field.presence == Presence::Always)
        field.read(t, at.at(field.key), found);
      else if (const auto value = at.find(field.key))
        field.read(t, *value, found);
    });
}

template <class T>
std::vector<std::string> Fields<T>::keys() const {
  std::vector<std::string> keys;
  for (const JsonField<T>& field : list_) keys.push_back(field.key);
  return keys;
}

template <class T>
const JsonField<T>& Fields<T>::at(std::string_view key) const {
  for (const JsonField<T>& field : list_)
    if (field.key == key) return field;
  throw std::out_of_range("no field is called " + std::string(key));
}

template <class T>
T Fields<T>::read(const JsonCursor& at) const {
  T t{};
  read(at, t);
  return t;
}

template <class T>
Fields<T> document_fields(std::string_view kind, const Fields<T>& members) {
  const std::string name = schema_name(schema(kind));
  // Reading has compared it before (read_document).
  Fields<T> all = {{"schema", [name](const T&) { return Json(name); }, any(constant_schema(name)),
                    [](T&, const JsonCursor&) {}}};
  all.add(members);
  return all;
}

template <class T>
T read_fields(const Fields<T>& fields, std::string_view text, std::string_view kind,
              const std::string& source) {
  const Json json = read_document(text, kind, source);
  return fields.read(JsonCursor(json, source));
}

}  // namespace trainyard
