#include "core/training/data/document_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

class DocumentData final : public DataSource {
 public:
  DocumentData(const DataSource& source, DocumentStream stream)
      : source_(source), stream_(std::move(stream)) {}

  std::string_view name() const override { return source_.name(); }
  std::string provenance() const override { return source_.provenance(); }
  std::string content() const override {
    const PackedSamples& plan = stream_.plan();
    return fmt::format("{} in {} documents of {} samples", source_.content(), plan.lengths.size(),
                       plan.samples.size());
  }
  std::int64_t samples() const override { return samples_of(source_.samples()); }
  std::int64_t evaluation_samples() const override {
    return samples_of(source_.evaluation_samples());
  }
  Diagnostics check(const Model& model) const override {
    Diagnostics found = source_.check(model);
    for (const ModelInput& input : model_inputs(model)) {
      if (input.role == InputRole::Positions) continue;
      const Tensor& tensor = input.in_graph();
      if (input.role == InputRole::Numbers || tensor.shape.size() != 2 ||
          !has_axis(tensor, Axis::Sequence) || !has_axis(tensor, Axis::Batch))
        found.push_back(unfit(
            model,
            fmt::format("documents have an index for each token of a sample, found {} of shape {}",
                        input.name(), to_text(tensor.shape)),
            "packing=none"));
    }
    return found;
  }

  void fill(const DataRequest& request, std::span<float>) const override {
    throw Error(Error::Kind::InvalidInput,
                "documents have no numbers for \"" + request.graph[request.tensor].name + "\"");
  }

  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    const InputRole role = model_input(request).role;
    // The only document of a sample begins with it, and all samples may share one list of
    // positions.
    if (role == InputRole::Positions && !stream_.plan().packed)
      return each_element(request, [&](std::size_t e, std::int64_t, std::int64_t token,
                                       std::int64_t) { into[e] = token; });
    const bool batch_first = request.graph[request.tensor].shape[0].axis == Axis::Batch;
    const std::size_t batch = batch_first ? 0 : 1;
    const std::int64_t tokens = request.shape[1 - batch];
    std::vector<std::int64_t> rows(into.size(), role == InputRole::Labels ? kPaddingLabel : 0);
    for (std::int64_t s = 0; s < request.shape[batch]; ++s)
      for (const DocumentStream::Document& one : stream_.documents(request.first_sample + s)) {
        // The part of the document that lies among the request's tokens.
        const std::int64_t first = std::max(request.first_token, one.first),
                           last = std::min(request.first_token + tokens, one.first + one.length);
        if (first >= last) continue;
        const std::span<std::int64_t> values = std::span(rows).subspan(
            static_cast<std::size_t>(s * tokens + first - request.first_token),
            static_cast<std::size_t>(last - first));
        if (role == InputRole::Positions)
          std::iota(values.begin(), values.end(), first - one.first);
        else
          read(request, batch, one, first - one.first, values);
      }
    each_element(
        request, [&](std::size_t e, std::int64_t sample, std::int64_t token, std::int64_t) {
          into[e] = rows[static_cast<std::size_t>((sample - request.first_sample) * tokens + token -
                                                  request.first_token)];
        });
  }

 private:
  // As many as the other source's samples make documents of, once.
  std::int64_t samples_of(std::int64_t documents) const {
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(static_cast<double>(documents) /
                                                            stream_.plan().documents_a_sample()));
  }

  // Asks the other source for what the request is of, from that token of the document on.
  void read(const DataRequest& request, std::size_t batch, const DocumentStream::Document& one,
            std::int64_t first_token, std::span<std::int64_t> values) const {
    std::array<std::int64_t, 2> shape{};
    shape[batch] = 1, shape[1 - batch] = static_cast<std::int64_t>(values.size());
    DataRequest part = request;
    part.shape = shape;
    part.first_sample = request.evaluation
                            ? one.number % std::max<std::int64_t>(1, source_.evaluation_samples())
                            : one.number;
    part.first_token = first_token;
    source_.fill(part, values);
  }

  const DataSource& source_;
  DocumentStream stream_;
};

}  // namespace

std::unique_ptr<DataSource> document_data(const DataSource& source, DocumentStream stream) {
  return std::make_unique<DocumentData>(source, std::move(stream));
}

}  // namespace trainyard
