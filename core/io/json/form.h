// A Form says how a value stands in a document: what the JSON Schema says of it, how it is written
// and how it is read. A list of fields (fields.h) has a form for each field, by itself where the
// type of the value says enough.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/io/json/json.h"
#include "core/io/json/quantity.h"

namespace trainyard {

template <class V>
struct Form {
  using Value = V;
  Json schema;
  std::function<Json(const V&)> write;
  std::function<V(const JsonCursor&)> read = {};  // none where Trainyard only writes it
};

Form<bool> truth();
Form<std::string> text();
/// A text that is one of the words; `stated` says whether the schema lists them.
Form<std::string> one_of(const std::vector<std::string>& words, bool stated = true);
Form<double> number();
Form<double> number(const QuantityRange&);
/// A number, and null where it is not finite, which JSON cannot express. It is only written.
Form<double> finite_number();
Form<std::int64_t> whole(std::int64_t low = 0,
                         std::int64_t high = std::numeric_limits<std::int64_t>::max());
Form<std::int64_t> signed_whole();
/// Seconds as the double nearest to them: 33 ms is 0.033, which to_seconds() may miss. They are
/// only written.
Form<Duration> nearest_seconds();
/// What is JSON already, with what its schema says. It is only written, but where the field says
/// how it is read.
Form<Json> any(Json schema = Json::object());

Json type_schema(const char* type);
Json list_schema(Json items);
Json constant_schema(std::string_view word);
Json object_schema(Json::Object properties, const std::vector<std::string>& required);
/// Returns what is one of these forms.
Json one_of_schema(Json::List forms);
Json described(Json schema, std::string_view words);

/// A list; a longer one than `most` is refused, as "expected at most 1000 plans".
template <class V>
Form<std::vector<V>> list_of(const Form<V>& item,
                             std::size_t most = std::numeric_limits<std::size_t>::max(),
                             const std::string& what = "") {
  const auto write = [write = item.write](const std::vector<V>& values) {
    Json list = Json::list();
    for (const V& value : values) list.push(write(value));
    return list;
  };
  Form<std::vector<V>> form = {list_schema(item.schema), write};
  if (item.read)
    form.read = [read = item.read, most, what](const JsonCursor& at) {
      const std::vector<JsonCursor> items = at.items();
      if (items.size() > most) at.expected("at most " + std::to_string(most) + " " + what);
      std::vector<V> values;
      for (const JsonCursor& one : items) values.push_back(read(one));
      return values;
    };
  return form;
}

/// Returns the number in a quantity or an id, the seconds of a duration, the word of an
/// enumeration, and otherwise the value itself, as a V.
template <class V, class X>
V plain(const X& x) {
  if constexpr (std::is_same_v<V, X>)
    return x;
  else if constexpr (std::is_same_v<X, Duration>)
    return to_seconds(x);
  else if constexpr (std::is_enum_v<X>)
    return V(to_string(x));
  else if constexpr (requires { x.value; })
    return static_cast<V>(x.value);
  else if constexpr (requires {
                       typename V::value_type;
                       x.begin();
                     } && !std::is_same_v<V, std::string>) {
    V list;
    for (const auto& one : x) list.push_back(plain<typename V::value_type>(one));
    return list;
  } else
    return static_cast<V>(x);
}

/// Returns the X that plain() takes to v.
template <class X, class V>
X from_plain(V&& v) {
  if constexpr (std::is_same_v<X, std::remove_cvref_t<V>>)
    return std::forward<V>(v);
  else if constexpr (requires(X x) { x.value; })
    return X{static_cast<decltype(X::value)>(v)};
  else if constexpr (requires {
                       typename X::value_type;
                       v.begin();
                     } && !std::is_same_v<X, std::string>) {
    X list;
    for (auto& one : v) list.push_back(from_plain<typename X::value_type>(one));
    return list;
  } else
    return static_cast<X>(v);
}

/// Returns the form of an X that its type alone says.
template <class X>
auto form_of() {
  if constexpr (std::is_same_v<X, bool>)
    return truth();
  else if constexpr (std::is_same_v<X, Duration>)
    return number(kSeconds);
  else if constexpr (std::is_enum_v<X> || std::is_convertible_v<X, std::string_view>)
    return text();
  else if constexpr (std::is_integral_v<X>)
    return whole();
  else if constexpr (std::is_floating_point_v<X>)
    return number();
  else if constexpr (requires(X x) { x.value; })
    return form_of<decltype(X::value)>();
  else
    return list_of(form_of<typename X::value_type>());
}

}  // namespace trainyard
