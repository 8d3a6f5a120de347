#include "app/workspace/runs/number_fields.h"

#include <string>
#include <vector>

namespace trainyard {
namespace {

struct ExponentCount {
  int exponent = 0;
  std::int64_t count = 0;
};

// A class of numbers in one look.
struct ClassInLook {
  NumberClass of = NumberClass::Weights;
  NumberWindow window;
  WindowCounts counts;
};

struct ClassHistogram {
  NumberClass of = NumberClass::Weights;
  std::vector<ExponentCount> counts;
};

std::vector<ClassInLook> classes_of(const NumberLook& look) {
  std::vector<ClassInLook> all;
  for (std::size_t c = 0; c < kNumberClasses; ++c)
    if (look.counts[c].elements() > 0)
      all.push_back({static_cast<NumberClass>(c), look.windows[c], look.counts[c]});
  return all;
}

std::vector<ClassHistogram> histograms_of(const NumberRecord& record) {
  std::vector<ClassHistogram> all;
  for (std::size_t c = 0; c < kNumberClasses; ++c) {
    ClassHistogram one{static_cast<NumberClass>(c), {}};
    const ExponentHistogram& h = record.histograms()[c];
    for (int e = ExponentHistogram::kLeast; e <= ExponentHistogram::kMost; ++e)
      if (h.count(e) > 0) one.counts.push_back({e, h.count(e)});
    if (!one.counts.empty()) all.push_back(std::move(one));
  }
  return all;
}

Fields<ExponentCount> exponent_fields() {
  return {{"exponent", &ExponentCount::exponent, "e where 2^e <= |x| < 2^(e+1)"},
          {"count", &ExponentCount::count}};
}

template <class T>
JsonField<T> class_field() {
  return {"class", [](const T& t) { return std::string(to_string(t.of)); },
          "weights, gradients or activations"};
}

Fields<ClassHistogram> histogram_fields() {
  return {class_field<ClassHistogram>(),
          {"counts", &ClassHistogram::counts, list_of(object(exponent_fields()))}};
}

Fields<ClassInLook> class_fields() {
  const auto window = [](auto member) { return in(&ClassInLook::window, member); };
  const auto counts = [](auto member) { return in(&ClassInLook::counts, member); };
  return {
      class_field<ClassInLook>(),
      {"format", window(&NumberWindow::format), "fp16, E4M3, int16 ..."},
      {"scaled", window(&NumberWindow::scaled), kWhereSet,
       "its elements share a scale, so that the window lies under the largest number"},
      {"least_exponent", window(&NumberWindow::least), "of the format, in units of the numbers"},
      {"least_normal_exponent", window(&NumberWindow::least_normal)},
      {"most_exponent", window(&NumberWindow::most)},
      {"elements", [](const ClassInLook& c) { return c.counts.elements(); }},
      {"zeros", counts(&WindowCounts::zeros)},
      {"under", counts(&WindowCounts::under), "not zero, but the format would round them to it"},
      {"subnormal", counts(&WindowCounts::subnormal), "it would keep fewer of their bits"},
      {"normal", counts(&WindowCounts::normal)},
      {"over", counts(&WindowCounts::over), "too large for it"},
      {"not_finite", counts(&WindowCounts::not_finite)}};
}

Fields<NumberLook> look_fields() {
  const auto updates = [](const NumberLook& look) {
    return look.updates.asked > 0 ? std::optional(look.updates.share()) : std::nullopt;
  };
  return {{"step", &NumberLook::step, whole(1)},
          {"loss_scale", &NumberLook::loss_scale, number(kAmount), kWhereSet},
          {"skipped", &NumberLook::skipped, kWhereSet,
           "gradients had overflowed, so that nothing was updated and only activations were seen"},
          {"asked_updates", [](const NumberLook& look) { return look.updates.asked; },
           "weights other than zero whose gradient is not zero"},
          {"cancelled_share", updates, number(kShare),
           "of these, the weights that the update left as they were"},
          {"classes", classes_of, list_of(object(class_fields()))}};
}

Fields<LossScaleChange> loss_scale_fields() {
  return {{"step", &LossScaleChange::step, whole(1), "the first one that had it"},
          {"scale", &LossScaleChange::scale, number(kAmount)}};
}

}  // namespace

Fields<NumberRecord> number_fields() {
  const auto shown = [](const NumberRecord& r) {
    return r.shown() != nullptr ? std::optional(r.shown()->step) : std::nullopt;
  };
  return {
      {"interval", [](const NumberRecord& r) { return r.interval(); }, whole(1),
       "steps between two looks"},
      {"looks", [](const NumberRecord& r) { return r.looks(); }, list_of(object(look_fields()))},
      {"loss_scale", [](const NumberRecord& r) { return r.loss_scales(); },
       list_of(object(loss_scale_fields())), kWhereSet, "where it changed, and its first"},
      {"histogram_step", shown, whole(1), "the last look whose update was not skipped"},
      {"histograms", histograms_of, list_of(object(histogram_fields())),
       "of that step; exponents that no number has are left out"}};
}

}  // namespace trainyard
