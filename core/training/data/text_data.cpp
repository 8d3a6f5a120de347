// This file provides the characters of a text: a sample is a stretch that starts anywhere, and its
// labels are the characters one position later. An encoder reads the stretch before that of its
// decoder. The last tenth of the text is never trained on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "core/io/bytes/files.h"
#include "core/training/data/data_sources.h"
#include "core/training/data/sample_order.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

constexpr std::size_t kLeast = 100;            // least number of characters of a text
constexpr std::int64_t kEvaluationApart = 64;  // characters between starts of evaluation samples

// Whether the model's labels follow what its decoder reads, and not what its encoder reads.
bool has_decoder(const Model& model) {
  return std::any_of(model.blocks.begin(), model.blocks.end(),
                     [](const Block& block) { return block.graph.side_input.valid(); });
}

class Text final : public DataSource {
 public:
  Text(std::string_view name, std::string text, std::string provenance, const DataSeeds& seeds)
      : name_(name), text_(std::move(text)), seed_(seeds.order) {
    if (text_.size() < kLeast)
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format("expected a text of at least {} characters, found {}", kLeast, text_.size()),
          Place{name_});
    std::array<bool, 256> used{};
    for (char c : text_) used[static_cast<unsigned char>(c)] = true;
    for (std::size_t c = 0; c < used.size(); ++c)
      if (used[c]) ids_[c] = distinct_++;
    held_out_ = static_cast<std::int64_t>(text_.size() / 10);
    trained_ = static_cast<std::int64_t>(text_.size()) - held_out_;
    if (seeds.split)
      begins_ = Random(*seeds.split).between(0, 0, static_cast<std::int64_t>(text_.size()) - 1);
    provenance_ = fmt::format("{}, {} characters, {} of them distinct, digest {}", provenance,
                              text_.size(), distinct_, to_hex(digest(text_)));
  }

  std::string_view name() const override { return name_; }
  std::string provenance() const override { return provenance_; }
  std::string content() const override {
    return fmt::format("a text of {} characters, digest {}", text_.size(), to_hex(digest(text_)));
  }
  std::int64_t samples() const override { return trained_; }
  std::int64_t evaluation_samples() const override {
    return std::max<std::int64_t>(1, held_out_ / kEvaluationApart);
  }

  Diagnostics check(const Model& model) const override {
    Diagnostics found;
    bool ids = false, labels = false, decoder_ids = false;
    for (const ModelInput& input : model_inputs(model)) {
      const Tensor& tensor = input.in_graph();
      const bool ordered = has_axis(tensor, Axis::Sequence) && has_axis(tensor, Axis::Batch);
      if (input.role == InputRole::Positions) continue;
      bool& has = input.role == InputRole::Labels         ? labels
                  : input.block->graph.side_input.valid() ? decoder_ids
                                                          : ids;
      const bool read = input.role == InputRole::Labels || input.role == InputRole::Rows;
      if (read && ordered && !has) {
        has = true;
        if (input.limit < distinct_)
          found.push_back(
              unfit(model, fmt::format("{} has {} distinct characters, found {} for {} of them",
                                       name_, distinct_, input.name(), input.limit)));
      } else {
        found.push_back(unfit(model,
                              fmt::format("text has one stream of characters and nothing for {} "
                                          "of shape {}",
                                          input.name(), to_text(tensor.shape)),
                              "--data random"));
      }
    }
    if (found.empty() && !(ids && labels && decoder_ids == has_decoder(model)))
      found.push_back(unfit(model,
                            "expected a model that reads token ids and ends in a loss with a "
                            "label for each",
                            "--data random"));
    return found;
  }

  void fill(const DataRequest& request, std::span<float>) const override {
    throw Error(Error::Kind::InvalidInput,
                name_ + " has no numbers for \"" + request.graph[request.tensor].name + "\"");
  }

  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    const InputRole role = model_input(request).role;
    const bool decoded = request.graph.side_input.valid() ||
                         (role == InputRole::Labels && has_decoder(request.model));
    const std::int64_t further =
        (role == InputRole::Labels ? 1 : 0) + (decoded ? stretch(request) : 0);
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t token, std::int64_t) {
                   into[e] = role == InputRole::Positions
                                 ? token
                                 : character(request.evaluation, sample, token + further);
                 });
  }

 private:
  // The number of characters of a sample that the request's tensor has.
  static std::int64_t stretch(const DataRequest& request) {
    const Shape& dims = request.graph[request.tensor].shape;
    std::int64_t characters = 1;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].axis == Axis::Sequence || dims[d].axis == Axis::SequenceRegion)
        characters = request.shape[d];
    return characters;
  }

  // Both parts wrap around: a stretch that starts near the end continues at the beginning.
  std::int64_t character(bool evaluation, std::int64_t sample, std::int64_t offset) const {
    const std::int64_t at = evaluation ? trained_ + (sample * kEvaluationApart + offset) %
                                                        std::max<std::int64_t>(1, held_out_)
                                       : (sample_at(seed_, sample, trained_) + offset) % trained_;
    const std::size_t in_text = static_cast<std::size_t>(begins_ + at) % text_.size();
    return ids_[static_cast<unsigned char>(text_[in_text])];
  }

  std::string name_, text_, provenance_;
  std::uint64_t seed_;
  std::array<std::int64_t, 256> ids_{};
  std::int64_t distinct_ = 0, trained_ = 0, held_out_ = 0;
  std::int64_t begins_ = 0;  // where the part that is trained on does; the held-out one is behind
                             // it
};

}  // namespace

std::unique_ptr<DataSource> text_data(std::string_view name, std::string text,
                                      std::string provenance, const DataSeeds& seeds) {
  return std::make_unique<Text>(name, std::move(text), std::move(provenance), seeds);
}

std::unique_ptr<DataSource> license_text(const std::string& folder, const DataSeeds& seeds) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure))
    if (entry.symlink_status().type() == fs::file_type::regular)
      files.push_back(entry.path().string());
  if (failure)
    throw Error(Error::Kind::InvalidInput, "expected a folder of texts: " + failure.message(),
                Place{folder});
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += read_file(file, 16_MiB);
  return text_data("licenses", std::move(text), fmt::format("{} files of {}", files.size(), folder),
                   seeds);
}

}  // namespace trainyard
