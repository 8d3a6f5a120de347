// A DataSource provides a model's samples: images and labels, text, clicks. The order of samples is
// a function of seed and position, so every layout of a run uses the same samples in the same
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/training/random_sources.h"
#include "core/training/trained_tensor.h"

namespace trainyard {

/// A DataRequest asks for a tensor of one microbatch that comes from outside the model.
struct DataRequest {
  const Model& model;
  const Graph& graph;  // the block that reads it
  TensorId tensor;
  std::span<const std::int64_t> shape;  // shape on one device; the batch dimension is that of the
                                        // tensor's Axis::Batch, the sequence that of Axis::Sequence
  std::int64_t first_sample = 0;  // position in the endless stream of samples; the microbatch is
                                  // this sample and those after it
  bool evaluation = false;  // from the part that is never trained on, in which first_sample is then
                            // a position
  std::int64_t first_token = 0;  // position in the sequence, where the device holds a part of it
};

class ActingSource;

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual std::string_view name() const = 0;   // "fashion-mnist"
  virtual std::string provenance() const = 0;  // file, package and version, in words
  /// What all sources with these samples say, wherever their files lie.
  virtual std::string content() const { return std::string(name()); }
  virtual std::int64_t samples() const = 0;  // per epoch
  virtual std::int64_t evaluation_samples() const = 0;
  /// Returns which of samples() a position of the stream has; nothing where what is read there
  /// never comes again as it was.
  virtual std::optional<std::int64_t> stored_sample(std::int64_t) const { return std::nullopt; }
  /// Returns everything about the model that does not fit the data: a tensor of another size, more
  /// classes.
  virtual Diagnostics check(const Model&) const = 0;
  /// Fills in numbers, row-major. Reentrant.
  virtual void fill(const DataRequest&, std::span<float>) const = 0;
  /// Fills in token ids, labels or rows of tables. Reentrant.
  virtual void fill(const DataRequest&, std::span<std::int64_t>) const = 0;
  /// Returns a source for one training where samples depend on the training that reads them, and
  /// null where they do not. A source that returns one hands out no samples itself.
  virtual std::unique_ptr<ActingSource> acting() const;
};

/// An ActingSource makes its samples itself: it acts in an environment with the newest parameters,
/// and hands out what came of it.
class ActingSource : public DataSource {
 public:
  /// Must be called before every update, with all parameters as they then are. Until the next call,
  /// fill() gives the samples of that update.
  virtual void act(const Model&, const std::vector<TrainedTensor>&) = 0;
  /// The mean return over evaluation_samples() episodes in which no action is random.
  virtual double mean_return(const Model&, const std::vector<TrainedTensor>&) const = 0;
};

inline std::unique_ptr<ActingSource> DataSource::acting() const { return nullptr; }

struct DataEntry {
  std::string_view name, summary;
  std::string (*absent)();  // "" when it can be opened, else the sentence that says what to install
  bool augmented = false;   // samples are changed at random when they are read
  bool splits = false;      // can be split otherwise than it comes
};
/// "fashion-mnist", "licenses" (characters of /usr/share/common-licenses), "clicks",
/// "cart-pole", "random".
std::span<const DataEntry> data_sources();
/// Returns the data on which a model is trained by default, by its family.
std::string_view default_data(const Model&);
/// Returns the entry that opens a name; that of "licenses" stands for "text:FILE". Throws
/// Error{InvalidInput} with the nearest name.
const DataEntry& data_entry(std::string_view name);
/// Opens a name of data_sources(), or "text:FILE". Blocks while it loads. Throws
/// Error{InvalidInput} with the nearest name, with the package that provides the data, or where
/// there is nothing to split otherwise.
std::unique_ptr<DataSource> open_data(std::string_view name, const DataSeeds&,
                                      const std::function<void(double)>& progress = {});

}  // namespace trainyard
