// A DataSource feeds a model: images and labels, text, clicks. Which sample comes when is a
// function of seed and position, so every layout of a run sees the same samples in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"

namespace trainyard {

/// A tensor of one microbatch that comes from outside the model.
struct DataRequest {
  const Model& model;
  const Graph& graph;  // of the block that reads it
  TensorId tensor;
  std::span<const std::int64_t> shape;  // of one device; the batch dimension is where the tensor's
                                        // Axis::Batch is, the sequence where Axis::Sequence is
  std::int64_t first_sample = 0;  // position in the endless stream of samples; the microbatch is
                                  // this one and those after it
  bool evaluation = false;        // of the part that is never trained on; position within it
  std::int64_t first_token = 0;   // of the sequence, where the device holds a part of it
};

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual std::string_view name() const = 0;   // "fashion-mnist"
  virtual std::string provenance() const = 0;  // file, package and version, in words
  virtual std::int64_t samples() const = 0;    // of one epoch
  virtual std::int64_t evaluation_samples() const = 0;
  /// Everything about the model that does not fit the data: a tensor of another size, more classes.
  virtual Diagnostics check(const Model&) const = 0;
  /// Reentrant. Numbers; row-major.
  virtual void fill(const DataRequest&, std::span<float>) const = 0;
  /// Token ids, labels, rows of tables.
  virtual void fill(const DataRequest&, std::span<std::int64_t>) const = 0;
};

struct DataEntry {
  std::string_view name, summary;
  std::string (*absent)();  // empty when it can be opened, else the sentence that says what to
                            // install
};
/// "fashion-mnist", "licenses" (characters of /usr/share/common-licenses), "clicks", "random".
std::span<const DataEntry> data_sources();
/// What a model is trained on where nobody says: by its family.
std::string_view default_data(const Model&);
/// A name of data_sources(), or "text:FILE". Blocks while it loads. Throws Error{InvalidInput}
/// with the nearest name, or saying which package brings it.
std::unique_ptr<DataSource> open_data(std::string_view name, std::uint64_t seed,
                                      const std::function<void(double)>& progress = {});

}  // namespace trainyard
