// This file packs values into bytes for another process of the same program on a machine of the
// same kind, which reads them back in the order in which they were appended. It is no format for
// files: nothing says what the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trainyard {

template <class T>
void append(std::string& bytes, const T* values, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}
template <class T>
void append(std::string& bytes, const T& value) {
  append(bytes, &value, 1);
}
/// Appends a list with its length, which Pieces::list() reads.
template <class T>
void append_list(std::string& bytes, const std::vector<T>& values) {
  append(bytes, std::uint64_t{values.size()});
  append(bytes, values.data(), values.size());
}
inline void append_list(std::string& bytes, std::string_view text) {
  append(bytes, std::uint64_t{text.size()});
  bytes.append(text);
}

/// Pieces read what was appended, piece by piece. The bytes must outlive them, and hold all that is
/// asked for.
class Pieces {
 public:
  explicit Pieces(std::string_view bytes) : bytes_(bytes) {}
  bool left() const { return at_ < bytes_.size(); }
  template <class T>
  T next() {
    T value{};
    next(&value, 1);
    return value;
  }
  template <class T>
  void next(T* into, std::size_t count) {
    if (count > 0) std::memcpy(into, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values(next<std::uint64_t>());
    next(values.data(), values.size());
    return values;
  }
  std::string text() {
    std::string text(next<std::uint64_t>(), '\0');
    next(text.data(), text.size());
    return text;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace trainyard
