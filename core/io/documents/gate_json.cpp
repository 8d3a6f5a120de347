#include "core/io/documents/gate_json.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr const char* kGateSchema = "trainyard/gate";
constexpr std::size_t kMostTasks = 1000, kMostTensors = 100'000;

Fields<GateLimits> gate_limit_fields() {
  return {{"excess_error", &GateLimits::excess_error, kWhereSet, "on every task"},
          {"instability", &GateLimits::instability, kWhereSet, "on every task"},
          {"flips", &GateLimits::flips, kWhereSet, "on every task"},
          {"eigenspace", &GateLimits::eigenspace, kWhereSet, "of every embedding table"}};
}

Fields<GateTask> gate_task_fields() {
  return {{"name", &GateTask::name, "clean, or how inputs are corrupted"},
          {"questions", &GateTask::questions},
          {"accuracy", &GateTask::accuracy, "of the reference"},
          {"loss", &GateTask::loss, "of the reference"},
          {"area", &GateTask::area, kWhereSet,
           "under the curve of clicks found over clicks imagined, of the reference"}};
}

Fields<JudgedAnswers> judged_fields() {
  return {{"questions", &JudgedAnswers::questions},
          {"right", &JudgedAnswers::right, "of the reference"},
          {"lost", &JudgedAnswers::lost, "right by the reference, wrong by the model"},
          {"won", &JudgedAnswers::won, "wrong by the reference, right by the model"},
          {"flipped", &JudgedAnswers::flipped, "the model answers another class"},
          {"times", &JudgedAnswers::times, whole(1), kDefaulted,
           "that each question was asked, of chips that are counted together"}};
}

Fields<GatedTable> gated_table_fields() {
  return {{"name", &GatedTable::name},
          {"rows", &GatedTable::rows},
          {"width", &GatedTable::width},
          {"instability", &GatedTable::instability, "of its eigenspace"}};
}

Fields<ChipErrors> chip_errors_fields() {
  return {{"mean", &ChipErrors::mean, "share of wrong answers over all chips"},
          {"deviation", &ChipErrors::deviation, "standard deviation over chips"},
          {"least", &ChipErrors::least, "of a chip"},
          {"most", &ChipErrors::most, "of a chip"}};
}

Fields<GatedChips> gated_chips_fields() {
  return {{"form", &GatedChips::form, "the model without its rate"},
          {"rate", &GatedChips::rate, "probability that a bit of a weight is flipped"},
          {"count", &GatedChips::count, whole(1), "chips"},
          {"tasks", &GatedChips::tasks, list_of(object(chip_errors_fields()), kMostTasks, "tasks"),
           "in the order of the tasks"}};
}

Fields<LosslessBytes> lossless_bytes_fields() {
  return {{"bytes", &LosslessBytes::bytes, "of all weights"},
          {"ratio", &LosslessBytes::ratio, "stored bytes over those of 8-bit numbers"},
          {"worst_ratio", &LosslessBytes::worst_ratio, "of a tile"}};
}

Fields<LosslessTensor> lossless_tensor_fields() {
  return {{"name", &LosslessTensor::name},
          {"activation", &LosslessTensor::activation, "else a parameter"},
          {"numbers", &LosslessTensor::numbers},
          {"ratio", &LosslessTensor::ratio, "stored bytes over those of 8-bit numbers"},
          {"worst_ratio", &LosslessTensor::worst_ratio, "of a tile"}};
}

Fields<VectorNoise> vector_noise_fields() {
  return {{"bits", &VectorNoise::bits, "of a code"},
          {"vector", &VectorNoise::vector, "weights that share a scale; 0 = a channel"},
          {"scale_bits", &VectorNoise::scale_bits, "0 = each scale is a number by itself"},
          {"decibels", &VectorNoise::decibels, "signal over the noise of rounding, in dB"}};
}

Fields<GatedModel> gated_model_fields() {
  return {
      {"name", &GatedModel::name},
      {"bytes", &GatedModel::bytes, "of its weights"},
      {"tasks", &GatedModel::tasks, list_of(object(judged_fields()), kMostTasks, "tasks"),
       "in the order of the tasks"},
      {"losses", &GatedModel::losses, list_of(number(), kMostTasks, "losses"),
       "in the order of the tasks"},
      {"across", &GatedModel::across,
       "share of questions that it answers rightly on some tasks and wrongly on others"},
      {"tables", &GatedModel::tables, list_of(object(gated_table_fields()), kMostTasks, "tables"),
       kDefaulted, "embedding tables"},
      {"areas", &GatedModel::areas, list_of(number(), kMostTasks, "areas"), kDefaulted,
       "under the curve, in the order of the tasks"},
      {"beyond", &GatedModel::beyond, kDefaulted, "a sentence for each limit that is passed"},
      {"chips", &GatedModel::chips, object(gated_chips_fields()),
       "in whose memories bits are flipped"},
      {"lossless", &GatedModel::lossless, object(lossless_bytes_fields()),
       "its weights in groups of a common width"},
      {"decibels", &GatedModel::decibels, kWhereSet,
       "signal of weights of few bits over what they lost, in dB"}};
}

}  // namespace

const Fields<GateReport>& gate_fields() {
  static const Fields<GateReport> fields = document_fields<GateReport>(
      kGateSchema,
      {{"model", &GateReport::model},
       {"data", &GateReport::data},
       {"reference", &GateReport::reference},
       {"reference_bytes", &GateReport::reference_bytes, "of its weights"},
       {"reference_across", &GateReport::reference_across,
        "share of questions that the reference answers rightly on some tasks and "
        "wrongly on others"},
       {"limits", &GateReport::limits, object(gate_limit_fields())},
       {"tasks", &GateReport::tasks, list_of(object(gate_task_fields()), kMostTasks, "tasks"),
        "the first is clean"},
       {"models", &GateReport::models, list_of(object(gated_model_fields()), kMostTasks, "models"),
        "held against the reference"},
       {"tensors", &GateReport::tensors,
        list_of(object(lossless_tensor_fields()), kMostTensors, "tensors"), kDefaulted,
        "of the reference, stored without loss"},
       {"vectors", &GateReport::vectors,
        list_of(object(vector_noise_fields()), kMostTensors, "vectors"), kDefaulted,
        "the reference's weights where vectors of them share a scale"}});
  return fields;
}

GateReport read_gate(std::string_view text, const std::string& source) {
  GateReport report = read_fields(gate_fields(), text, kGateSchema, source);
  for (std::size_t m = 0; m < report.models.size(); ++m) {
    const GatedModel& model = report.models[m];
    for (const std::size_t count : {model.tasks.size(), model.losses.size(),
                                    model.chips ? model.chips->tasks.size() : report.tasks.size()})
      if (count != report.tasks.size())
        throw Error(Error::Kind::InvalidInput,
                    fmt::format("expected {} tasks, as many as the report has, found {}",
                                report.tasks.size(), count),
                    {fmt::format("{}#/models/{}", source, m)});
    if (!model.areas.empty() && model.areas.size() != report.tasks.size())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected {} areas, as many as the report has tasks, found {}",
                              report.tasks.size(), model.areas.size()),
                  {fmt::format("{}#/models/{}/areas", source, m)});
  }
  judge(report);
  return report;
}

}  // namespace trainyard
