// Implements the exchange of rows between ranks that have parts of every image: forward each takes
// the rows beside its own from its neighbours, backward it adds what they made of the gradients of
// its own rows.
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"

namespace trainyard {
namespace {

// The rows of an image with a halo, from the top: the halo above, the rank's own, the halo below.
struct HaloImage {
  std::int64_t planes, rows, columns, above, below, bytes_each;

  // Rows [first, first + count) of all images, by the side of the neighbour that shares them.
  struct Rows {
    std::int64_t first, count;
  };
  Rows halo(bool is_above) const { return is_above ? Rows{0, above} : Rows{rows - below, below}; }
  /// The rank's own rows that lie in the halo of its neighbour above or below.
  Rows shared(bool is_above) const {
    return is_above ? Rows{above, below} : Rows{rows - below - above, above};
  }
  std::size_t bytes(Rows r) const {
    return static_cast<std::size_t>(planes * r.count * columns * bytes_each);
  }
  /// Calls f(offset in bytes of the rows in the image, offset in those alone, bytes) by plane; not
  /// at all where there are no rows, which lie nowhere.
  template <class F>
  void each_plane(Rows r, F&& f) const {
    if (r.count == 0) return;
    const std::int64_t one = r.count * columns * bytes_each;
    for (std::int64_t p = 0; p < planes; ++p)
      f((p * rows + r.first) * columns * bytes_each, p * one, static_cast<std::size_t>(one));
  }
};

}  // namespace

TravelPtr CpuExecution::exchange_halos(const Node& node, bool gradients, const Company& company,
                                       const std::vector<std::byte*>& images,
                                       const TensorView& view) {
  const HaloImage image{
      view.size[0] * view.size[1], view.size[2],       view.size[3], attribute(node, "above"),
      attribute(node, "below"),    bytes_of(view.type)};
  const auto given = [=](std::size_t from, std::size_t to) {
    return gradients ? image.halo(to < from) : image.shared(to < from);
  };
  const auto are_neighbours = [](std::size_t a, std::size_t b) { return a + 1 == b || b + 1 == a; };
  // Each member of this process has two entries: the rows for its neighbour above, then those for
  // the one below.
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(2 * company.members);
  for (std::size_t m = 0; m < company.members; ++m)
    for (const bool is_above : {true, false}) {
      if (!company.here(m)) continue;
      const HaloImage::Rows rows = gradients ? image.halo(is_above) : image.shared(is_above);
      std::vector<std::byte>& bytes = (*packed)[2 * m + (is_above ? 0 : 1)];
      bytes.resize(image.bytes(rows));
      image.each_plane(rows, [&](std::int64_t in_image, std::int64_t alone, std::size_t size) {
        std::memcpy(bytes.data() + alone, images[m] + in_image, size);
      });
    }
  return deal(
      company,
      [=](std::size_t from, std::size_t to) -> std::span<const std::byte> {
        if (!are_neighbours(from, to)) return {};
        return (*packed)[2 * from + (to < from ? 0 : 1)];
      },
      [=](std::size_t from, std::size_t to) {
        return are_neighbours(from, to) ? image.bytes(given(from, to)) : 0;
      },
      [=, type = view.type](const Dealt& dealt) -> TravelPtr {
        std::vector<float> own, others;
        for (std::size_t m = 0; m < company.members; ++m)
          for (const bool is_above : {true, false}) {
            if (!company.here(m) || (is_above ? m == 0 : m + 1 == company.members)) continue;
            const std::byte* const arrived = dealt(is_above ? m - 1 : m + 1, m).data();
            const HaloImage::Rows rows = gradients ? image.shared(is_above) : image.halo(is_above);
            image.each_plane(
                rows, [&](std::int64_t in_image, std::int64_t alone, std::size_t size) {
                  std::byte* const to = images[m] + in_image;
                  if (!gradients) {
                    std::memcpy(to, arrived + alone, size);
                    return;
                  }
                  const auto count = static_cast<std::int64_t>(size) / image.bytes_each;
                  own.resize(static_cast<std::size_t>(count)), others.resize(own.size());
                  to_floats(to, type, own.data(), count);
                  to_floats(arrived + alone, type, others.data(), count);
                  for (std::size_t i = 0; i < own.size(); ++i) own[i] += others[i];
                  from_floats(own.data(), to, type, count);
                });
          }
        static_cast<void>(packed);  // in which the rows of this process lie
        return nullptr;
      });
}

}  // namespace trainyard
