#include "core/model/packed_samples.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace trainyard {
namespace {

PackedSamples of_documents(std::vector<std::int64_t> lengths, std::int64_t sequence, bool packed) {
  PackedSamples made{.sequence = sequence, .packed = packed};
  std::size_t longer = 0;
  for (std::int64_t& length : lengths) {
    longer += length > sequence ? 1 : 0;
    length = std::min(length, sequence);
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  made.cut = static_cast<double>(longer) / static_cast<double>(lengths.size());
  made.lengths = std::move(lengths);
  return made;
}

}  // namespace

std::int64_t PackedSamples::tokens(std::size_t sample) const {
  std::int64_t sum = 0;
  for (const std::int32_t document : samples[sample])
    sum += lengths[static_cast<std::size_t>(document)];
  return sum;
}

double PackedSamples::efficiency() const {
  return mean_over_tokens([](std::int64_t) { return 1.0; });
}

double PackedSamples::documents_a_sample() const {
  return static_cast<double>(lengths.size()) / static_cast<double>(samples.size());
}

PackedSamples padded_samples(std::vector<std::int64_t> lengths, std::int64_t sequence) {
  PackedSamples made = of_documents(std::move(lengths), sequence, false);
  for (std::size_t d = 0; d < made.lengths.size(); ++d)
    made.samples.push_back({static_cast<std::int32_t>(d)});
  return made;
}

PackedSamples packed_samples(std::vector<std::int64_t> lengths, std::int64_t sequence) {
  PackedSamples made = of_documents(std::move(lengths), sequence, true);
  std::vector<std::int64_t> room;  // by sample
  std::size_t first = 0;           // samples before it have no room for any document
  for (std::size_t d = 0; d < made.lengths.size(); ++d) {
    while (first < room.size() && room[first] < made.lengths.back()) ++first;
    std::size_t at = first;
    while (at < room.size() && room[at] < made.lengths[d]) ++at;
    if (at == room.size()) {
      room.push_back(sequence);
      made.samples.emplace_back();
    }
    room[at] -= made.lengths[d];
    made.samples[at].push_back(static_cast<std::int32_t>(d));
  }
  return made;
}

}  // namespace trainyard
