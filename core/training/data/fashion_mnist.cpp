// Fashion-MNIST has 60,000 training and 10,000 test images of 28 x 28 grey pixels in ten classes. A
// model that reads text behind an image gets the name of what it shows, character by character.
// Xiao et al., "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
// 2017.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "core/io/bytes/files.h"
#include "core/model/patch_grid.h"
#include "core/training/data/data_sources.h"
#include "core/training/data/idx_file.h"
#include "core/training/data/sample_order.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

constexpr std::int64_t kSide = 28, kPixels = kSide * kSide, kClasses = 10;
constexpr float kMean = 0.2860f, kDeviation = 0.3530f;  // mean and deviation of the training
                                                        // pixels, scaled to [0, 1]
constexpr std::int64_t kMostShift = 2;
constexpr std::array<std::string_view, kClasses> kCaptions = {
    "t-shirt", "trousers", "pullover", "dress", "coat",
    "sandal",  "shirt",    "sneaker",  "bag",   "ankle boot"};
constexpr std::int64_t kCharacters = 128;  // tokens are ASCII; spaces are around a caption

struct Images {
  IdxArray pixels, labels;
  std::int64_t count() const { return pixels.shape[0]; }
};

IdxArray load(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  return parse_idx(gunzip(read_file(path), 1_GiB, path), path);
}

Images load_images(const std::string& folder, const std::string& part) {
  Images images{load(folder, part + "-images-idx3-ubyte.gz"),
                load(folder, part + "-labels-idx1-ubyte.gz")};
  const auto& shape = images.pixels.shape;
  const std::string path = folder + "/" + part + "-*";
  if (shape.size() != 3 || shape[0] < 1 || shape[1] != kSide || shape[2] != kSide)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected images of 28 x 28, found an array of {}", fmt::join(shape, " x ")),
        Place{path});
  if (images.labels.shape.size() != 1 || images.labels.shape[0] != shape[0])
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a label for each of {} images, found {}", shape[0],
                            fmt::join(images.labels.shape, " x ")),
                Place{path});
  for (char label : images.labels.bytes)
    if (static_cast<unsigned char>(label) >= kClasses)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected labels from 0 to 9, found {}",
                              static_cast<int>(static_cast<unsigned char>(label))),
                  Place{path});
  return images;
}

class FashionMnist final : public DataSource {
 public:
  FashionMnist(const std::string& folder, bool augmented, const DataSeeds& seeds,
               const LoadProgress& progress)
      : folder_(folder), augmented_(augmented), seeds_(seeds) {
    test_ = load_images(folder, "t10k");
    if (progress) progress(1.0 / 7);
    train_ = load_images(folder, "train");
    if (progress) progress(1);
    for (std::size_t value = 0; value < normal_.size(); ++value)
      normal_[value] = (static_cast<float>(value) / 255 - kMean) / kDeviation;
  }

  std::string_view name() const override {
    return augmented_ ? "fashion-mnist-augmented" : "fashion-mnist";
  }
  std::string provenance() const override {
    return fmt::format(
        "Fashion-MNIST, {} training and {} test images from {} (Debian's "
        "dataset-fashion-mnist), digest {}",
        train_.count(), test_.count(), folder_,
        to_hex(Digest().add(train_.labels.bytes).add(test_.pixels.bytes).value()));
  }
  std::int64_t samples() const override { return train_.count(); }
  std::int64_t evaluation_samples() const override { return test_.count(); }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    if (augmented_) return std::nullopt;
    return sample_at(seeds_.order, position, train_.count());
  }

  Diagnostics check(const Model& model) const override {
    Diagnostics found;
    bool images = false, labels = false, words = false, next_words = false;
    for (const ModelInput& input : model_inputs(model)) {
      const Shape& shape = input.in_graph().shape;
      if (input.role == InputRole::Numbers) {
        images = true;
        const bool flat = shape.size() == 2 && shape[1].size == kPixels;
        const bool square = shape.size() == 4 && shape[2].size >= kSide && shape[3].size >= kSide;
        if (square && tokens_of_images(model) > 0 && shape[2].size != shape[3].size)
          found.push_back(unfit(model,
                                "Fashion-MNIST has one image a sample, found several, one "
                                "below the other, in " +
                                    input.name() + " of shape " + to_text(shape),
                                "--data random"));
        if (!flat && !square)
          found.push_back(unfit(
              model, fmt::format("images of 28 x 28 pixels fit [batch, 784] or [batch, channels, "
                                 "28 or more, 28 or more], found {} of shape {}",
                                 input.name(), to_text(shape))));
      } else if (input.role == InputRole::Labels && shape.size() == 1) {
        labels = true;
        if (input.limit < kClasses)
          found.push_back(unfit(model, fmt::format("Fashion-MNIST has 10 classes, found a loss "
                                                   "over {}",
                                                   input.limit)));
      } else if (tokens_of_images(model) > 0 && input.role != InputRole::Numbers &&
                 has_axis(input.in_graph(), Axis::Sequence)) {
        (input.role == InputRole::Labels ? next_words : words) = true;
        if (input.role != InputRole::Positions && input.limit < kCharacters)
          found.push_back(unfit(model, fmt::format("captions are of {} characters, found {} for {} "
                                                   "of them",
                                                   kCharacters, input.name(), input.limit)));
      } else {
        found.push_back(unfit(model,
                              fmt::format("Fashion-MNIST has an image and a label a sample and "
                                          "nothing for {} of shape {}",
                                          input.name(), to_text(shape)),
                              "--data random"));
      }
    }
    if (found.empty() && !(images && (labels || (words && next_words))))
      found.push_back(unfit(model,
                            "expected a model that reads images and ends in a loss with a "
                            "label each",
                            "--data random"));
    return found;
  }

  void fill(const DataRequest& request, std::span<float> into) const override {
    const std::int64_t batch = request.shape[0];
    const auto each = into.size() / static_cast<std::size_t>(batch);
    for (std::int64_t b = 0; b < batch; ++b)
      draw(request, b, into.subspan(static_cast<std::size_t>(b) * each, each));
  }

  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    const InputRole role = model_input(request).role;
    const bool text = has_axis(request.graph[request.tensor], Axis::Sequence);
    const std::int64_t start =
        tokens_of_images(request.model) - (role == InputRole::Labels ? 1 : 0);
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t token, std::int64_t) {
                   into[e] = role == InputRole::Positions ? token
                             : text ? character(class_of(request, sample), token - start)
                                    : class_of(request, sample);
                 });
  }

 private:
  struct Image {
    const Images& part;
    std::size_t at;
  };
  /// Drawn anew, a split deals the images of both parts: as many to each as before.
  Image image_at(const DataRequest& request, std::int64_t b) const {
    const std::int64_t position = request.first_sample + b, trained = train_.count();
    std::int64_t at = request.evaluation ? trained + position % test_.count()
                                         : sample_at(seeds_.order, position, trained);
    if (seeds_.split) at = sample_at(*seeds_.split, at, trained + test_.count());
    return at < trained ? Image{train_, static_cast<std::size_t>(at)}
                        : Image{test_, static_cast<std::size_t>(at - trained)};
  }

  std::int64_t class_of(const DataRequest& request, std::int64_t sample) const {
    const Image image = image_at(request, sample - request.first_sample);
    return static_cast<unsigned char>(image.part.labels.bytes[image.at]);
  }

  // A caption begins behind its image, whose places are not read.
  static std::int64_t character(std::int64_t of_class, std::int64_t at) {
    const std::string_view caption = kCaptions[static_cast<std::size_t>(of_class)];
    const bool inside = at >= 0 && at < static_cast<std::int64_t>(caption.size());
    return inside ? static_cast<unsigned char>(caption[static_cast<std::size_t>(at)]) : ' ';
  }

  // The image is drawn in the middle of a background, once for every channel.
  void draw(const DataRequest& request, std::int64_t b, std::span<float> into) const {
    const Image image = image_at(request, b);
    const auto* pixels = reinterpret_cast<const unsigned char*>(image.part.pixels.bytes.data()) +
                         image.at * static_cast<std::size_t>(kPixels);
    const bool flat = request.shape.size() == 2;
    const std::int64_t height = flat ? kSide : request.shape[2],
                       width = flat ? kSide : request.shape[3],
                       channels = flat ? 1 : request.shape[1];
    std::int64_t down = (height - kSide) / 2, right = (width - kSide) / 2;
    bool mirrored = false;
    if (augmented_ && !request.evaluation) {
      const Random random(seeds_.augmentation + 1,
                          static_cast<std::uint64_t>(request.first_sample + b));
      down += random.between(0, -kMostShift, kMostShift);
      right += random.between(1, -kMostShift, kMostShift);
      mirrored = random.between(2, 0, 1) == 1;
    }
    std::fill(into.begin(), into.end(), normal_[0]);
    float* plane = into.data();
    for (std::int64_t y = 0; y < kSide; ++y) {
      if (y + down < 0 || y + down >= height) continue;
      for (std::int64_t x = 0; x < kSide; ++x)
        if (x + right >= 0 && x + right < width)
          plane[(y + down) * width + x + right] =
              normal_[pixels[y * kSide + (mirrored ? kSide - 1 - x : x)]];
    }
    for (std::int64_t c = 1; c < channels; ++c)
      std::copy(plane, plane + height * width, plane + c * height * width);
  }

  std::string folder_;
  bool augmented_;
  DataSeeds seeds_;
  Images train_, test_;
  std::array<float, 256> normal_{};
};

}  // namespace

std::unique_ptr<DataSource> fashion_mnist(const std::string& folder, bool augmented,
                                          const DataSeeds& seeds, const LoadProgress& progress) {
  return std::make_unique<FashionMnist>(folder, augmented, seeds, progress);
}

}  // namespace trainyard
