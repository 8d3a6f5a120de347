#include "core/training/trained_tensor.h"

#include <cstring>

namespace trainyard {
namespace {

template <class T>
void append(std::string& to, const T* values, std::size_t count) {
  const std::uint64_t size = count;
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// Takes what append() has written from the front.
template <class List>
List taken(const char*& from) {
  std::uint64_t size = 0;
  std::memcpy(&size, from, sizeof size);
  from += sizeof size;
  List list(size, typename List::value_type{});
  if (size > 0) std::memcpy(list.data(), from, size * sizeof(list[0]));
  from += size * sizeof(typename List::value_type);
  return list;
}

}  // namespace

std::string pack_tensors(const std::vector<TrainedTensor>& tensors) {
  std::string bytes;
  for (const TrainedTensor& t : tensors) {
    append(bytes, &t.layer, 1);
    append(bytes, t.name.data(), t.name.size());
    append(bytes, t.shape.data(), t.shape.size());
    append(bytes, t.values.data(), t.values.size());
  }
  return bytes;
}

std::vector<TrainedTensor> unpack_tensors(const std::string& bytes) {
  std::vector<TrainedTensor> tensors;
  const char* from = bytes.data();
  while (from != bytes.data() + bytes.size()) {
    TrainedTensor& t = tensors.emplace_back();
    t.layer = taken<std::vector<int>>(from).front();
    t.name = taken<std::string>(from);
    t.shape = taken<std::vector<std::int64_t>>(from);
    t.values = taken<std::vector<float>>(from);
  }
  return tensors;
}

}  // namespace trainyard
