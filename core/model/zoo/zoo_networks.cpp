// This file lists published networks that are not transformers. Three are left out, because no
// exact structure or count is published that we could reproduce: GNMT (recurrent), AmoebaNet-B and
// -D (searched cells), and the dynamic convolution model of IWSLT.
#include "core/model/zoo/zoo_tables.h"

namespace trainyard {
namespace {

std::string name_of(const ZooEntry& entry) { return std::string(entry.name); }

Model with_source(Model model, const ZooEntry& entry) {
  model.source = entry.source;
  return model;
}

Model resnet18(const ZooEntry& e) {
  return with_source(build_resnet(name_of(e), {2, 2, 2, 2}, false), e);
}
Model resnet34(const ZooEntry& e) {
  return with_source(build_resnet(name_of(e), {3, 4, 6, 3}, false), e);
}
Model resnet50(const ZooEntry& e) {
  return with_source(build_resnet(name_of(e), {3, 4, 6, 3}, true), e);
}
Model resnet101(const ZooEntry& e) {
  return with_source(build_resnet(name_of(e), {3, 4, 23, 3}, true), e);
}
Model resnet152(const ZooEntry& e) {
  return with_source(build_resnet(name_of(e), {3, 8, 36, 3}, true), e);
}
Model resnet20(const ZooEntry& e) { return with_source(build_small_resnet(name_of(e), 3), e); }
Model vgg16(const ZooEntry& e) { return with_source(build_vgg16(name_of(e)), e); }
Model wide_28_2(const ZooEntry& e) { return with_source(build_wide_resnet(name_of(e), 28, 2), e); }
Model wide_28_10(const ZooEntry& e) {
  return with_source(build_wide_resnet(name_of(e), 28, 10), e);
}
Model inception_tiny(const ZooEntry& e) { return with_source(build_branched(name_of(e), 3), e); }
Model mlp_small(const ZooEntry& e) {
  return with_source(build_mlp({name_of(e), 784, 256, 8, 10}), e);
}
Model cartpole_q(const ZooEntry& e) {
  Model model = build_mlp({name_of(e), 4, 64, 1, 2, true});
  model.blocks.front().layer = true;  // or two stages would have one layer to divide
  return with_source(std::move(model), e);
}

Model dlrm_mlperf(const ZooEntry& e) {
  RecommenderSpec spec;
  spec.name = name_of(e);
  spec.tables = {40000000, 39060,    17295,    7424,     20265,  3,     7122, 1543, 63,
                 40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                 14,       40000000, 40000000, 40000000, 590152, 12973, 108,  36};
  spec.width = 128;
  spec.dense = 13;
  spec.bottom = {512, 256, 128};
  spec.top = {1024, 1024, 512, 256, 1};
  return with_source(build_recommender(spec), e);
}

Model dlrm_tiny(const ZooEntry& e) {
  RecommenderSpec spec;
  spec.name = name_of(e);
  spec.tables = {1000, 1000, 100, 100};
  spec.width = 16;
  spec.dense = 13;
  spec.bottom = {64, 16};
  spec.top = {64, 1};
  return with_source(build_recommender(spec), e);
}

Model lstm_tiny(const ZooEntry& e) {
  return with_source(build_lstm({name_of(e), 256, 128, 2, 128}), e);
}

constexpr std::string_view kHe = "He et al. 2015; count of the common implementations";
constexpr std::string_view kWide = "Zagoruyko and Komodakis 2016; count as published with it";
constexpr std::string_view kOwn = "our own, small enough to train on a laptop";

constexpr ZooEntry kEntries[] = {
    {"resnet-18", "resnet", 11689512, 11689512, true, kHe, resnet18},
    {"resnet-34", "resnet", 21797672, 21797672, true, kHe, resnet34},
    {"resnet-50", "resnet", 25557032, 25557032, true, kHe, resnet50},
    {"resnet-101", "resnet", 44549160, 44549160, true, kHe, resnet101},
    {"resnet-152", "resnet", 60192808, 60192808, true, kHe, resnet152},
    {"resnet-20", "resnet", 272474, 272474, false,
     "He et al. 2015, for 32 x 32 images, with projection shortcuts", resnet20},
    {"vgg-16", "vgg", 138357544, 138357544, true,
     "Simonyan and Zisserman 2014; count of the common implementations", vgg16},
    {"wideresnet-28-2", "resnet", 1467610, 1467610, true, kWide, wide_28_2},
    {"wideresnet-28-10", "resnet", 36479194, 36479194, true, kWide, wide_28_10},
    {"inception-tiny", "inception", 135946, 135946, false,
     "our own, small enough to train on a laptop: blocks of four branches as in Inception-ResNet "
     "(Szegedy et al. 2016)",
     inception_tiny},
    {"mlp-small", "mlp", 729866, 729866, false, kOwn, mlp_small},
    {"cartpole-q", "mlp", 4610, 4610, false,
     "our own, small enough to train on a laptop: position and motion of a cart with a pole in, "
     "values of a push to the left and to the right out",
     cartpole_q},
    {"dlrm-criteo1tb-mlperf", "dlrm", 26137996161, 2372225, false,
     "table sizes of the MLPerf reference (Criteo 1 TB, 40 M rows at most); the count is our "
     "formula's",
     dlrm_mlperf},
    {"dlrm-tiny", "dlrm", 38929, 3793, false, kOwn, dlrm_tiny},
    {"lstm-tiny", "lstm", 328960, 328960, false,
     "our own, small enough to train on a laptop: characters in, characters out", lstm_tiny},
};

}  // namespace

void append_networks(std::vector<ZooEntry>& list) {
  list.insert(list.end(), std::begin(kEntries), std::end(kEntries));
}

}  // namespace trainyard
