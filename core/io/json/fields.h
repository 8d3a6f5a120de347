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

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

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

namespace fields_detail {

/// Where a value is written.
struct ValueTarget {
  Json& object;
  const std::string& key;
  bool always;  // an empty value too

  void set(Json value) const;
};

/// The form of values of one type, which is unknown here: fields of any structure share it.
class ValueKind {
 public:
  ValueKind(bool absent_too, bool readable) : may_lack(absent_too), reads(readable) {}
  virtual ~ValueKind();
  virtual void write(const void* value, const ValueTarget&) const = 0;
  virtual void read(void* value, const JsonCursor&) const = 0;

  const bool may_lack;  // it is a std::optional or a pointer
  const bool reads;
};

/// A value's place in something, whose type is unknown here.
class ValuePlace {
 public:
  virtual ~ValuePlace();
  virtual void write(const void* t, const ValueKind&, const ValueTarget&) const = 0;
  /// Returns null where the value is calculated.
  virtual void* in(void* t) const = 0;
};

struct AnyFields;

/// A field without the type that has it, so that all but its place and its form is compiled once.
struct AnyField {
  std::string key;
  Json schema;
  Presence presence = Presence::Always;
  std::function<void(const void* t, Json& object, bool always)> put;
  std::function<void(void* t, const JsonCursor&, Diagnostics*)> take;  // none: it is only written

  explicit AnyField(std::string_view its_key);
  AnyField(const AnyField&);
  AnyField(AnyField&&) noexcept;
  AnyField& operator=(const AnyField&);
  AnyField& operator=(AnyField&&) noexcept;
  ~AnyField();

  void hold(std::unique_ptr<const ValuePlace>, std::unique_ptr<const ValueKind>,
            const Json& its_schema);
  /// Makes it an object whose fields are those of what has the field.
  void nest(const AnyFields&);
  void option(Presence its_presence) { presence = its_presence; }
  void option(std::string_view words);
};

/// Fields without the type that has them.
struct AnyFields {
  std::vector<AnyField> list;

  AnyFields();
  AnyFields(const AnyFields&);
  AnyFields(AnyFields&&) noexcept;
  AnyFields& operator=(const AnyFields&);
  AnyFields& operator=(AnyFields&&) noexcept;
  ~AnyFields();

  void add(const AnyField&);
  void add(const AnyFields&);
  void add(const AnyFields& of_part, std::unique_ptr<const ValuePlace> part);
  std::vector<std::string> keys() const;
  const AnyField& at(std::string_view key) const;
  Json schema() const;
  Json write(const void* t) const;
  void read(const JsonCursor&, void* t, Diagnostics* found) const;
};

AnyField schema_field(std::string_view kind);

}  // namespace fields_detail

template <class T>
struct JsonField : fields_detail::AnyField {
  // Options come by value, so that words of every length are of one type: fields whose values and
  // options have the types of another's are compiled once.
  template <class Of, class... Options>
  JsonField(std::string_view its_key, Of of, Options... options);
  explicit JsonField(AnyField any) : AnyField(std::move(any)) {}

  /// `always` writes an empty value too.
  void write(const T& t, Json& object, bool always) const { put(&t, object, always); }

 private:
  template <class Option>
  void apply(const Option& one);
};

/// The members of an object in the order in which they are read.
template <class T>
class Fields {
 public:
  Fields() = default;
  Fields(std::initializer_list<JsonField<T>> list) {
    for (const JsonField<T>& one : list) all_.add(one);
  }

  std::vector<std::string> keys() const { return all_.keys(); }
  /// Throws std::out_of_range where there is no field of that key.
  JsonField<T> at(std::string_view key) const { return JsonField<T>(all_.at(key)); }
  void add(const JsonField<T>& field) { all_.add(field); }
  void add(const Fields& more) { all_.add(more.all_); }
  /// Adds all fields of a part of a T, which are then only written.
  template <class Part, class Of>
  void add(const Fields<Part>& part, Of of);

  Json schema() const { return all_.schema(); }
  Json write(const T& t) const { return all_.write(&t); }
  /// Reads into an object, which keeps what the document leaves out. Throws Error{InvalidInput} for
  /// the first error; with `found` errors are added to it instead.
  void read(const JsonCursor& at, T& t, Diagnostics* found = nullptr) const {
    all_.read(at, &t, found);
  }
  T read(const JsonCursor&) const;

  /// Returns them without their type.
  const fields_detail::AnyFields& all() const { return all_; }

 private:
  fields_detail::AnyFields all_;
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
decltype(auto) pick_form(const First& first, const Rest&... rest) {
  if constexpr (IsForm<First>::value)
    return (first);
  else
    return pick_form<X>(rest...);
}

template <class Of, class T>
decltype(auto) reach(const Of& of, T& t) {
  if constexpr (std::is_member_object_pointer_v<Of>)
    return (t.*of);
  else if constexpr (std::is_member_function_pointer_v<Of>)
    return (t.*of)();
  else
    return of(t);
}

/// Says what type a place has.
template <class T, class Of>
struct Reached {
  using Got = decltype(reach(std::declval<const Of&>(), std::declval<T&>()));
  using Value =
      std::remove_cvref_t<decltype(reach(std::declval<const Of&>(), std::declval<const T&>()))>;
  static constexpr bool kHeld =
      std::is_lvalue_reference_v<Got> && !std::is_const_v<std::remove_reference_t<Got>>;
};

template <class T, class Of, class X>
class PlaceOf final : public ValuePlace {
 public:
  explicit PlaceOf(Of of) : of_(std::move(of)) {}
  void write(const void* t, const ValueKind& kind, const ValueTarget& target) const override {
    const X& x = reach(of_, *static_cast<const T*>(t));
    kind.write(&x, target);
  }
  void* in(void* t) const override {
    if constexpr (Reached<T, Of>::kHeld)
      return &reach(of_, *static_cast<T*>(t));
    else
      return nullptr;
  }

 private:
  Of of_;
};

template <class T, class X, class Of>
std::unique_ptr<const ValuePlace> place_of(Of of) {
  return std::unique_ptr<const ValuePlace>(new PlaceOf<T, Of, X>(std::move(of)));
}

template <class X, class V, bool kReads>
class KindOf final : public ValueKind {
 public:
  explicit KindOf(const Form<V>& form)
      : ValueKind(Absent<X>::value, kReads && form.read), write_(form.write), read_(form.read) {}
  void write(const void* value, const ValueTarget& target) const override {
    constexpr bool kOptional = Absent<X>::value;
    const X& x = *static_cast<const X*>(value);
    if ((kOptional || !target.always) && !is_set(x)) return;
    if constexpr (kOptional)
      put(*x, target);
    else
      put(x, target);
  }
  void read(void* value, const JsonCursor& at) const override {
    if constexpr (kReads)
      *static_cast<X*>(value) = from_plain<typename Absent<X>::Value>(read_(at));
  }

 private:
  template <class Inner>
  void put(const Inner& inner, const ValueTarget& target) const {
    if constexpr (std::is_same_v<Inner, V>)
      target.set(write_(inner));
    else
      target.set(write_(plain<V>(inner)));
  }

  std::function<Json(const V&)> write_;
  std::function<V(const JsonCursor&)> read_;
};

template <class X, bool kReads, class V>
std::unique_ptr<const ValueKind> kind_of(const Form<V>& form) {
  return std::unique_ptr<const ValueKind>(new KindOf<X, V, kReads>(form));
}

}  // namespace fields_detail

template <class T>
template <class Of, class... Options>
JsonField<T>::JsonField(std::string_view its_key, Of of, Options... options) : AnyField(its_key) {
  namespace detail = fields_detail;
  if constexpr (detail::IsFields<Of>::value) {
    static_assert(std::is_same_v<Of, Fields<T>>, "fields of the T itself");
    nest(of.all());
  } else {
    using Reached = detail::Reached<T, Of>;
    using X = typename Reached::Value;
    using Inner = typename detail::Absent<X>::Value;
    const auto& form = detail::pick_form<Inner>(options...);
    using V = typename std::remove_cvref_t<decltype(form)>::Value;
    // Words of an enumeration and seconds are read by a form of that type only, and a view keeps
    // nothing that is read.
    constexpr bool kOneWay = std::is_enum_v<Inner> || std::is_same_v<Inner, Duration> ||
                             std::is_same_v<Inner, std::string_view> || std::is_same_v<V, Json>;
    constexpr bool kReads = Reached::kHeld && (std::is_same_v<V, Inner> || !kOneWay);
    hold(detail::place_of<T, X>(std::move(of)), detail::kind_of<X, kReads>(form), form.schema);
  }
  (apply(options), ...);
}

template <class T>
template <class Option>
void JsonField<T>::apply(const Option& one) {
  if constexpr (requires(T& t, const JsonCursor& at) { one(t, at); })
    take = [one](void* t, const JsonCursor& at, Diagnostics*) { one(*static_cast<T*>(t), at); };
  else if constexpr (!fields_detail::IsForm<Option>::value)
    option(one);
}

template <class T>
template <class Part, class Of>
void Fields<T>::add(const Fields<Part>& part, Of of) {
  all_.add(part.all(), fields_detail::place_of<T, Part>(std::move(of)));
}

template <class T>
T Fields<T>::read(const JsonCursor& at) const {
  T t{};
  read(at, t);
  return t;
}

template <class T>
Fields<T> document_fields(std::string_view kind, const Fields<T>& members) {
  Fields<T> all;
  all.add(JsonField<T>(fields_detail::schema_field(kind)));
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
