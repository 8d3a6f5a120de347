#include "core/training/trained_tensor.h"

#include "core/base/packed.h"

namespace trainyard {

std::string pack_tensors(const std::vector<TrainedTensor>& tensors) {
  std::string bytes;
  for (const TrainedTensor& t : tensors) {
    append(bytes, t.layer);
    append_list(bytes, t.name);
    append_list(bytes, t.shape);
    append_list(bytes, t.values);
  }
  return bytes;
}

std::vector<TrainedTensor> unpack_tensors(const std::string& bytes) {
  std::vector<TrainedTensor> tensors;
  for (Pieces pieces(bytes); pieces.left();) {
    TrainedTensor& t = tensors.emplace_back();
    t.layer = pieces.next<int>();
    t.name = pieces.text();
    t.shape = pieces.list<std::int64_t>();
    t.values = pieces.list<float>();
  }
  return tensors;
}

}  // namespace trainyard
