#include "backends/reference/weights.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/error.h"

namespace trainyard {
namespace {

std::size_t elements(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

// Of a matrix [rows, columns] in row-major order.
std::vector<double> transpose(const std::vector<double>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<double> turned(values.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      turned[static_cast<std::size_t>(c * rows + r)] =
          values[static_cast<std::size_t>(r * columns + c)];
  return turned;
}

bool plain(const UpdateRule& rule) {
  return !rule.correct_discrepancy && rule.prediction == Prediction::None;
}

}  // namespace

StageWeights::StageWeights(int version, const std::vector<StageParameter>& parameters,
                           const UpdateRule& rule, const std::vector<ParameterState>& state,
                           const std::vector<std::size_t>& tensors)
    : version_(version) {
  const auto all = [&](auto&& weights_of) {
    std::vector<std::vector<double>> list;
    for (const ParameterState& s : state) list.push_back(weights_of(s));
    return table(parameters, std::move(list), tensors);
  };
  if (plain(rule)) {
    forward_ = all([](const ParameterState& s) { return s.weights; });
    return;
  }
  forward_ = all([&](const ParameterState& s) { return forward_weights(rule, s); });
  backward_ = all([&](const ParameterState& s) { return backward_weights(rule, s); });
}

StageWeights::Table StageWeights::table(const std::vector<StageParameter>& parameters,
                                        std::vector<std::vector<double>> values,
                                        const std::vector<std::size_t>& tensors) {
  Table made;
  made.tensors.resize(parameters.size());
  for (std::size_t count : tensors) made.at.emplace_back(count, nullptr);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const StageParameter& p = parameters[i];
    made.tensors[i].shape = p.shape;
    if (p.shares >= 0) {
      const std::vector<double>& own = values[static_cast<std::size_t>(p.shares)];
      made.tensors[i].values = p.transposed ? transpose(own, p.shape[1], p.shape[0]) : own;
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].shares < 0) made.tensors[i].values = std::move(values[i]);
    made.at[parameters[i].layer][parameters[i].tensor.value] = &made.tensors[i];
  }
  return made;
}

WeightVersions::WeightVersions(const std::vector<StageParameter>& parameters,
                               const std::vector<std::size_t>& tensors,
                               std::vector<HostTensor> initial, const UpdateRule& rule,
                               const std::vector<std::int32_t>& reads)
    : parameters_(&parameters), tensors_(&tensors), rule_(rule), reads_(reads) {
  for (HostTensor& t : initial) state_.push_back(parameter_state(std::move(t.values)));
  add(0);
}

std::int32_t& WeightVersions::left(int version) {
  const auto at = static_cast<std::size_t>(version);
  if (at >= reads_.size()) reads_.resize(at + 1, 0);
  return reads_[at];
}

void WeightVersions::add(int version) {
  if (!held_.empty() && left(held_.back()->version()) == 0) held_.pop_back();
  held_.push_back(std::make_unique<StageWeights>(version, *parameters_, rule_, state_, *tensors_));
  most_ = std::max(most_, static_cast<int>(held_.size()));
}

const StageWeights& WeightVersions::get(int version) const {
  // The newest is asked for most.
  for (auto held = held_.rbegin(); held != held_.rend(); ++held)
    if ((*held)->version() == version) return **held;
  std::string there;
  for (const auto& held : held_)
    there += (there.empty() ? "" : ", ") + std::to_string(held->version());
  throw Error(Error::Kind::InvalidInput, "it reads weight version " + std::to_string(version) +
                                             ", which is not there: held are " + there);
}

void WeightVersions::done_reading(int version) {
  if (--left(version) > 0 || held_.back()->version() == version) return;
  std::erase_if(held_, [&](const auto& held) { return held->version() == version; });
}

void WeightVersions::update(int version, const std::vector<std::vector<double>>& gradients,
                            const Change& change) {
  const int newest = held_.back()->version();
  if (version != newest + 1)
    throw Error(Error::Kind::InvalidInput, "it writes weight version " + std::to_string(version) +
                                               " when the newest is " + std::to_string(newest));
  for (std::size_t i = 0; i < state_.size(); ++i)
    if (!state_[i].weights.empty() && !(*parameters_)[i].frozen) {
      if (optimizer_ != nullptr)
        optimizer_->step(i, state_[i], gradients[i]);
      else
        trainyard::update(rule_, state_[i], gradients[i]);
    }
  if (change) change(state_);
  add(version);
}

void WeightVersions::take_mean(const std::vector<WeightVersions>& all) {
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i].weights = mean_weights(all, i);
  const int newest = held_.back()->version();
  held_.pop_back();
  held_.push_back(std::make_unique<StageWeights>(newest, *parameters_, rule_, state_, *tensors_));
}

std::vector<double> mean_weights(const std::vector<WeightVersions>& all, std::size_t parameter) {
  std::vector<double> mean(all.front().state()[parameter].weights.size(), 0.0);
  for (const WeightVersions& one : all)
    for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += one.state()[parameter].weights[e];
  for (double& value : mean) value /= static_cast<double>(all.size());
  return mean;
}

void GradientSums::add(std::size_t parameter, const GradientSums& more) {
  for (std::size_t e = 0; e < values[parameter].size(); ++e)
    values[parameter][e] += more.values[parameter][e];
  counts[parameter] += more.counts[parameter];
}

void GradientSums::clear(std::size_t parameter) {
  std::fill(values[parameter].begin(), values[parameter].end(), 0.0);
  counts[parameter] = 0;
}

GradientSums gradient_sums(const std::vector<StageParameter>& parameters) {
  GradientSums sums;
  for (const StageParameter& p : parameters)
    sums.values.emplace_back(p.shares < 0 ? elements(p.shape) : 0, 0.0);
  sums.counts.assign(parameters.size(), 0);
  return sums;
}

void accumulate(GradientSums& sums, const std::vector<StageParameter>& parameters,
                std::size_t parameter, const HostTensor& part) {
  const StageParameter& p = parameters[parameter];
  const bool turned = p.shares >= 0 && p.transposed;
  const std::vector<double> other =
      turned ? transpose(part.values, p.shape[0], p.shape[1]) : std::vector<double>{};
  const std::vector<double>& values = turned ? other : part.values;
  std::vector<double>& sum =
      sums.values[p.shares >= 0 ? static_cast<std::size_t>(p.shares) : parameter];
  for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += values[e];
}

}  // namespace trainyard
