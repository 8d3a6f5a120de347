#include "core/io/documents/result_json.h"

#include "core/base/digest.h"
#include "core/io/documents/plan_json.h"
#include "core/result/carbon.h"
#include "core/result/figures.h"
#include "core/result/training_cost.h"

namespace trainyard {
namespace {

Fields<Result> model_part_fields() {
  return {{"name", &Result::model_name},
          {"parameters", &Result::parameters},
          {"active_parameters", &Result::active_parameters},
          {"trained_parameters", &Result::trained_parameters, kWhereSet, "absent where all are"}};
}

Fields<Result> cluster_part_fields() {
  return {{"name", &Result::cluster_name},
          {"devices", &Result::devices, whole(1)},
          {"device", &Result::device_name},
          {"devices_per_node", &Result::devices_per_node, whole(1)}};
}

Fields<Fix> fix_fields() {
  return {{"set", &Fix::set},
          {"saves_bytes", &Fix::saves, signed_whole()},
          {"costs_fraction", &Fix::costs},
          {"fits", &Fix::fits},
          {"peak_bytes", &Fix::peak},
          {"step_seconds", &Fix::step, nearest_seconds()},
          {"sentence", &Fix::sentence}};
}

Fields<Assumed> assumed_fields() {
  return {{"setting", &Assumed::setting},
          {"taken", &Assumed::taken},
          {"other", &Assumed::other},
          {"step_seconds", &Assumed::step, nearest_seconds()},
          {"change", &Assumed::change, "share of the time a sample takes"},
          {"sentence", &Assumed::sentence}};
}

Fields<PeakPart> peak_part_fields() {
  std::vector<std::string> categories;
  for (int c = 0; c < kCategories; ++c)
    categories.emplace_back(to_string(static_cast<Category>(c)));
  return {{"name", &PeakPart::name},
          {"category", &PeakPart::category, one_of(categories)},
          {"bytes", &PeakPart::bytes}};
}

std::optional<Duration> peak_time(const Verdict& v) {
  return v.worst_device.valid() ? std::optional<Duration>(v.at) : std::nullopt;
}

Fields<Verdict> verdict_fields() {
  const Form<Fix> fix = object(fix_fields());
  return {{"fits", &Verdict::fits, "by the predicted peak alone"},
          {"word", &Verdict::word, one_of({"fits", "may not fit", "does not fit"}), kDefaulted,
           "may not fit: the capacity lies within the peak's band"},
          {"margin_bytes", &Verdict::margin, signed_whole()},
          {"worst_device", &Verdict::worst_device, kWhereSet},
          {"worst_stage", &Verdict::worst_stage, kWhereSet},
          {"at_seconds", peak_time, nearest_seconds()},
          {"phase", &Verdict::phase},
          {"crest", &Verdict::peak_parts, list_of(object(peak_part_fields()))},
          {"sentence", &Verdict::sentence},
          {"limit", &Verdict::limit, kWhereSet},
          {"fixes", &Verdict::fixes, list_of(fix)},
          {"gain", &Verdict::gain, fix}};
}

// These are the names of categories in the document. What recomputation rebuilds counts as
// activations there.
Fields<CategoryBytes> category_fields() {
  const auto of = [](Category category) {
    return [category](const CategoryBytes& bytes) {
      return bytes[static_cast<std::size_t>(category)];
    };
  };
  const auto activations = [of](const CategoryBytes& bytes) {
    return of(Category::Activations)(bytes) + of(Category::Recomputed)(bytes);
  };
  return {{"weights", of(Category::Weights)},
          {"gradients", of(Category::Gradients)},
          {"optimizer_state", of(Category::OptimizerState)},
          {"activations", activations},
          {"communication", of(Category::Communication)},
          {"workspace", of(Category::Workspace)},
          {"framework", of(Category::Framework)}};
}

Fields<AllocatorReplay> allocator_fields() {
  return {{"requested_bytes", &AllocatorReplay::requested},
          {"allocated_bytes", &AllocatorReplay::allocated},
          {"reserved_bytes", &AllocatorReplay::reserved},
          {"rounding_bytes", &AllocatorReplay::rounding},
          {"free_in_small_segments", &AllocatorReplay::small_free},
          {"free_in_shared_segments", &AllocatorReplay::shared_free},
          {"free_in_own_segments", &AllocatorReplay::own_free}};
}

Fields<StageMemory> stage_memory_fields() {
  const auto peak = [](auto member) { return in(&StageMemory::peak, member); };
  return {{"stage", &StageMemory::stage},
          {"device", &StageMemory::device},
          {"peak_bytes", peak(&Banded<Bytes>::value)},
          {"reserved_bytes", &StageMemory::reserved},
          {"capacity_bytes", &StageMemory::capacity, kWhereSet,
           "of its device, where kinds of devices differ"},
          {"at_seconds", &StageMemory::at, nearest_seconds()},
          {"low", peak(&Banded<Bytes>::low)},
          {"high", peak(&Banded<Bytes>::high)},
          {"categories", &StageMemory::categories, object(category_fields())},
          {"allocator", &StageMemory::replay, object(allocator_fields())}};
}

Fields<HostMemory> host_fields() {
  return {
      {"device_bytes", &HostMemory::device},
      {"node_bytes", &HostMemory::node},
      {"capacity_bytes", in(&HostMemory::capacity, &Sourced<Bytes>::value), kWhereSet},
      {"nvme_device_bytes", &HostMemory::nvme_device, kWhereSet},
      {"nvme_node_bytes", &HostMemory::nvme_node, kWhereSet},
      {"nvme_capacity_bytes", in(&HostMemory::nvme_capacity, &Sourced<Bytes>::value), kWhereSet},
      {"basis", &HostMemory::basis}};
}

Fields<Breakdown> breakdown_fields() {
  const Form<Duration> time = nearest_seconds();
  return {{"forward", &Breakdown::forward, time},
          {"backward", &Breakdown::backward, time},
          {"recompute", &Breakdown::recompute, time},
          {"optimizer", &Breakdown::optimizer, time},
          {"tensor_parallel", &Breakdown::tensor_parallel, time},
          {"context_parallel", &Breakdown::context_parallel, time},
          {"expert_parallel", &Breakdown::expert_parallel, time},
          {"pipeline", &Breakdown::pipeline, time},
          {"data_parallel", &Breakdown::data_parallel, time},
          {"bubble", &Breakdown::bubble, time},
          {"allocator", &Breakdown::allocator, time},
          {"host", &Breakdown::host, time, kWhereSet, "waiting for what the host keeps or updates"},
          {"input", &Breakdown::input, time, kWhereSet, "waiting for samples"},
          {"slower_devices", &Breakdown::slower, time, kWhereSet,
           "what computation takes longer than on a device of the median"}};
}

// A rate is absent where the step takes no time, and a rate of tokens where the model has none.
std::optional<double> tokens_rate(const Result& r) {
  if (r.step.value <= Duration{} || !r.counts_tokens) return std::nullopt;
  return tokens_per_second(r);
}

std::optional<double> of_a_device(std::optional<double> rate, const Result& r) {
  if (rate) *rate /= static_cast<double>(r.devices);
  return rate;
}

// These fields stand in a result whose samples are documents.
Fields<Result> documents_fields() {
  const auto of = [](auto member) {
    return in([](const Result& r) -> const auto& { return *r.documents; }, member);
  };
  return {{"a_sample", of(&SampleDocuments::a_sample), number(kAmount), "mean number"},
          {"packing_efficiency", of(&SampleDocuments::efficiency), number(kShare),
           "share of computed tokens that are no padding"},
          {"mean_width", of(&SampleDocuments::width), number(kAmount),
           "mean tokens of a sample that are computed"},
          {"useful_tokens_per_second",
           [](const Result& r) -> std::optional<double> {
             if (!tokens_rate(r)) return std::nullopt;
             return useful_tokens_per_second(r);
           },
           number(kAmount)}};
}

std::optional<double> samples_rate(const Result& r) {
  if (r.step.value <= Duration{}) return std::nullopt;
  return r.samples_per_step / to_seconds(r.step.value);
}

std::optional<double> model_tflops(const Result& r) {
  const double s = to_seconds(r.step.value);
  if (s <= 0) return std::nullopt;
  return r.model_flops.value / s / static_cast<double>(r.devices) / 1e12;
}

Fields<Result> stated_mfu_fields() {
  Fields<Result> fields;
  for (const FlopsDefinitionInfo& one : flops_definitions()) {
    if (one.hardware) continue;
    const auto share = [d = one.definition](const Result& r) -> std::optional<double> {
      for (const auto& [definition, stated] : r.stated_mfu)
        if (definition == d) return stated;
      return std::nullopt;
    };
    fields.add({std::string(one.name), share, number(kShare)});
  }
  return fields;
}

Fields<StageFacts> stage_facts_fields() {
  return {{"stage", &StageFacts::stage},
          {"device", &StageFacts::device},
          {"forward_delay", &StageFacts::forward_delay},
          {"backward_delay", &StageFacts::backward_delay},
          {"mean_delay", [](const StageFacts& f) { return f.mean_delay_thousandths / 1000.0; }},
          {"weight_versions", &StageFacts::versions, whole(1)},
          {"consistent", &StageFacts::consistent},
          {"live_microbatches", &StageFacts::live}};
}

Fields<Asynchrony> overhead_fields() {
  const auto overhead = [](auto member) { return in(&Asynchrony::token_overhead, member); };
  return {{"value", overhead(&Banded<double>::value)},
          {"low", overhead(&Banded<double>::low)},
          {"high", overhead(&Banded<double>::high)},
          {"basis", overhead(&Banded<double>::basis)},
          {"provenance", &Asynchrony::provenance}};
}

std::optional<double> effective_rate(const Result& r) {
  std::optional<double> rate = tokens_rate(r);
  if (rate) *rate /= r.asynchrony->token_overhead.value;
  return rate;
}

std::optional<double> effective_days(const Result& r) {
  const std::optional<double> rate = tokens_rate(r);
  if (!rate) return std::nullopt;
  return days_per_trillion_tokens(*rate, *r.asynchrony);
}

// Of a result that has asynchrony.
Fields<Result> asynchrony_fields() {
  const auto of = [](auto member) {
    return in([](const Result& r) -> const auto& { return *r.asynchrony; }, member);
  };
  return {{"sentence", of(&Asynchrony::sentence)},
          {"mean_delay", of(&Asynchrony::mean_delay), "updates"},
          {"weight_versions", of(&Asynchrony::versions), whole(1)},
          {"consistent", of(&Asynchrony::consistent)},
          {"token_overhead", [](const Result& r) -> const auto& { return *r.asynchrony; },
           object(overhead_fields())},
          {"effective_step_seconds",
           [](const Result& r) { return effective_step(r.step.value, *r.asynchrony); },
           nearest_seconds()},
          {"effective_tokens_per_second", effective_rate, number(kAmount)},
          {"days_per_trillion_tokens", effective_days, number(kAmount)},
          {"stages", of(&Asynchrony::stages), list_of(object(stage_facts_fields()))}};
}

std::optional<double> device_hour_price(const Result& r) {
  const double hours = to_seconds(r.step.value) * static_cast<double>(r.devices) / 3600.0;
  if (hours <= 0) return std::nullopt;
  return r.money->value / hours;
}

// Of a result that has a price.
Fields<Result> money_fields() {
  const auto of = [](auto member) {
    return in([](const Result& r) -> const auto& { return *r.money; }, member);
  };
  return {{"value", of(&Banded<double>::value)},
          {"low", of(&Banded<double>::low)},
          {"high", of(&Banded<double>::high)},
          {"currency", [](const Result&) { return "USD"; }},
          {"per_device_hour", device_hour_price}};
}

Fields<NearRow> near_row_fields() {
  return {{"id", &NearRow::id},
          {"distance", &NearRow::distance, "1 is a large difference in one thing"}};
}

// The member where the result has the optional part that it is of.
template <class Part, class Of>
auto where(std::optional<Part> Result::* part, Of of) {
  return [part, of](const Result& r) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Of, const Part&>>;
    return r.*part ? std::optional<Value>(std::invoke(of, *(r.*part))) : std::nullopt;
  };
}

Fields<PricedPhase> priced_phase_fields() {
  const auto phase = [](auto member) { return in(&PricedPhase::phase, member); };
  const auto rate = [](const PricedPhase& p) -> std::optional<double> {
    const double s = to_seconds(p.step.value);
    return s > 0 ? std::optional(p.work / s) : std::nullopt;
  };
  return {
      {"batch", phase(&BatchPhase::batch), whole(1)},
      {"first_sample", phase(&BatchPhase::first_sample)},
      {"first_step", phase(&BatchPhase::first_step)},
      {"steps", phase(&BatchPhase::steps), kWhereSet,
       "absent for the last phase, which lasts as long as the training does"},
      {"step_seconds", &PricedPhase::step, band<Duration>(nearest_seconds())},
      {"work_per_second", rate, number(kAmount), "tokens, or samples of a model without tokens"},
      {"mfu", &PricedPhase::mfu, number(kShare)},
      {"peak_bytes", &PricedPhase::peak, "of the fullest device"},
      {"energy_joules", &PricedPhase::energy, band<Joules>(number(kAmount)), "of a step"},
      {"money_usd", &PricedPhase::money, band<double>(number(kAmount)), "of a step"}};
}

// Writes the phases before the last, and the time that they take together.
Fields<Result> ramp_fields() {
  const auto cost = [](const Result& r) { return ramp_cost(r.ramp); };
  const auto of = [cost](auto member) {
    return [cost, member](const Result& r) { return std::invoke(member, cost(r)); };
  };
  return {{"phases", &Result::ramp, list_of(object(priced_phase_fields()))},
          {"steps", of(&TrainingCost::steps), number(kAmount), "before the last phase"},
          {"work", of(&TrainingCost::work), number(kAmount),
           "tokens, or samples of a model without tokens, before the last phase"},
          {"seconds", of(&TrainingCost::seconds), band<double>(number(kAmount))},
          {"energy_joules", of(&TrainingCost::energy), band<Joules>(number(kAmount))},
          {"money_usd", of(&TrainingCost::money), band<double>(number(kAmount))}};
}

Fields<GradientTraffic> gradient_traffic_fields() {
  return {{"received_bytes", &GradientTraffic::received, "by the ranks of one replica in a step"},
          {"dense_bytes", &GradientTraffic::dense, "the same of whole gradients"},
          {"break_even_ranks", &GradientTraffic::break_even_ranks, number(kAmount),
           "replicas at which both are equal; 0 of a plan that exchanges weights"}};
}

Fields<EvaluationCost> evaluation_cost_fields() {
  return {{"samples", &EvaluationCost::samples, whole(1)},
          {"every", &EvaluationCost::every, whole(1), "steps from one to the next"},
          {"replicas", &EvaluationCost::replicas, whole(1), "that evaluate a part each"},
          {"seconds", &EvaluationCost::time, band<Duration>(nearest_seconds()), "of one"}};
}

Fields<InputStage> input_stage_fields() {
  return {{"name", &InputStage::name, "storage, disk, decoding or copy"},
          {"seconds", &InputStage::time, nearest_seconds(), "for the samples of one step"}};
}

Fields<InputCost> input_cost_fields() {
  return {{"samples", &InputCost::samples, number(kAmount), "of a step, for the node with most"},
          {"memory_share", &InputCost::memory_share, number(kShare),
           "of the samples, those that lie decoded in memory"},
          {"disk_share", &InputCost::disk_share, number(kShare),
           "of the samples, those that lie stored on the node's disk"},
          {"memory_bytes", &InputCost::memory, "held by the cache when it is full"},
          {"disk_bytes", &InputCost::disk, "held by the cache when it is full"},
          {"stages", &InputCost::stages, list_of(object(input_stage_fields()))},
          {"slowest", &InputCost::slowest_stage},
          {"waiting_seconds", &InputCost::waiting, nearest_seconds(), "of a step"},
          {"sentence", &InputCost::sentence}};
}

Fields<Result> speed_fields() {
  const Form<double> amount = number(kAmount), share = number(kShare);
  return {{"step_seconds", &Result::step, band<Duration>(nearest_seconds())},
          {"tokens_per_second", tokens_rate, amount},
          {"tokens_per_second_per_device",
           [](const Result& r) { return of_a_device(tokens_rate(r), r); }, amount},
          {"documents", [](const Result& r) { return r.documents ? &r : nullptr; },
           object(documents_fields()), "of a plan that packs or pads"},
          {"samples_per_second", samples_rate, amount},
          {"batch_ramp", [](const Result& r) { return r.ramp.empty() ? nullptr : &r; },
           object(ramp_fields()), "of a plan whose batch grows"},
          {"model_flops_per_step", &Result::model_flops, amount},
          {"hardware_flops_per_step", &Result::hardware_flops, amount},
          {"tflops_per_device", model_tflops, amount},
          {"mfu", &Result::mfu, share},
          {"hfu", &Result::hfu, share},
          {"mfu_by_definition", stated_mfu_fields(), kWhereSet,
           "what the same step is by other counts of FLOPs"},
          {"peak_flops_used", &Result::peak_flops, amount},
          {"bubble_fraction", &Result::bubble_fraction, share},
          {"exposed_communication_fraction", &Result::exposed_communication_fraction, share},
          {"asynchrony", [](const Result& r) { return r.asynchrony ? &r : nullptr; },
           object(asynchrony_fields())},
          {"gradient_traffic", &Result::gradient_traffic, object(gradient_traffic_fields()),
           "of a plan that compresses gradients or relaxes synchrony"},
          {"evaluation", &Result::evaluation, object(evaluation_cost_fields()),
           "of a plan that stops to be evaluated, beside its steps"},
          {"input", &Result::input, object(input_cost_fields()),
           "of a plan that says where its samples come from"},
          {"rules", &Result::rules, list_of(object(fired_rule_fields())), kWhereSet,
           "that fired on the timeline"}};
}

Fields<EnergyParts> energy_parts_fields() {
  const Form<Banded<Joules>> energy = band<Joules>(number(kAmount));
  return {{"computing", &EnergyParts::computing, energy},
          {"streaming", &EnergyParts::streaming, energy, "in kernels that only move bytes"},
          {"communicating", &EnergyParts::communicating, energy, "while nothing else runs"},
          {"waiting", &EnergyParts::idle, energy, "in bubbles, and for host, allocator and input"},
          {"at_board_power", &EnergyParts::at_board, number(kAmount),
           "if every device drew its board power for the whole step; not a part"}};
}

Fields<LevelEnergy> level_energy_fields() {
  const auto name = [](const LevelEnergy& l) { return std::string(energy_row(l.level).name); };
  return {{"level", name}, {"joules", &LevelEnergy::energy, number(kAmount)}};
}

Fields<WorkEnergy> work_energy_fields() {
  return {{"joules", [](const WorkEnergy& e) { return e.total(); }, number(kAmount)},
          {"arithmetic", &WorkEnergy::arithmetic, number(kAmount)},
          {"levels", &WorkEnergy::levels, list_of(object(level_energy_fields())),
           "from the one beside the arithmetic to the one that holds everything"}};
}

Fields<OperationEnergy> operation_energy_fields() {
  Fields<OperationEnergy> fields = {{"name", &OperationEnergy::name},
                                    {"calls", &OperationEnergy::calls}};
  fields.add(work_energy_fields(), &OperationEnergy::energy);
  return fields;
}

Fields<Result> operation_energies_fields() {
  const auto all = [](const Result& r) { return total(r.operations); };
  return {{"basis", [](const Result&) { return std::string(kEnergyTableSource); }},
          {"all", all, object(work_energy_fields())},
          {"operations", &Result::operations, list_of(object(operation_energy_fields()))}};
}

Fields<Result> site_fields() {
  const auto whole = [](const Result& r) {
    return r.energy ? std::optional(site_energy(*r.energy, r.site)) : std::nullopt;
  };
  const auto emitted = [](const Result& r) { return carbon(r); };
  const auto basis = [](const Result& r) {
    return r.site.region.empty() ? std::string() : site_sentence(r.site);
  };
  return {{"region", [](const Result& r) { return r.site.region; }, kWhereSet},
          {"pue", [](const Result& r) { return r.site.overhead; }, number(kAmount),
           "energy of the whole centre over that of the devices"},
          {"energy_joules", whole, band<Joules>(number(kAmount)), "of a step, of the whole centre"},
          {"carbon_kg", emitted, band<double>(number(kAmount)),
           "of CO2 equivalents, for a step of the whole centre"},
          {"carbon_basis", basis, kWhereSet, "the region's electricity, its year and source"}};
}

Fields<Result> cost_fields() {
  return {
      {"energy_joules", &Result::energy, band<Joules>(number(kAmount))},
      {"energy_basis", where(&Result::energy, &Banded<Joules>::basis),
       "what a device draws by what it does"},
      {"mean_device_watts",
       [](const Result& r) { return r.energy ? std::optional(mean_draw(r)) : std::nullopt; },
       number(kAmount)},
      {"energy_parts_joules", [](const Result& r) { return energy_parts(r); },
       object(energy_parts_fields()), "the same energy by what devices do, and beside board power"},
      {"operation_energy", [](const Result& r) { return r.operations.empty() ? nullptr : &r; },
       object(operation_energies_fields()),
       "of gates and wires at 45 nm by operation and memory level, where it was asked for"},
      {"site", [](const Result& r) { return r.site == Site{} ? nullptr : &r; },
       object(site_fields()), "of a cluster that says where it stands"},
      {"money", [](const Result& r) { return r.money ? &r : nullptr; }, object(money_fields())}};
}

Fields<Result> trust_fields() {
  return {{"assumptions", &Result::assumptions, list_of(object(assumed_fields())), kDefaulted},
          {"leaves_out", &Result::leaves_out},
          {"band_basis", in(&Result::step, &Banded<Duration>::basis), kWhereSet},
          {"evidence", where(&Result::evidence, &Evidence::sentence),
           "what measured runs say of this answer"},
          {"nearest_validated", where(&Result::evidence, &Evidence::nearest),
           list_of(object(near_row_fields()))},
          {"outside_validated", where(&Result::evidence, &Evidence::outside)},
          {"unchecked", where(&Result::evidence, &Evidence::unchecked),
           "parts of the plan that no row has"}};
}

Fields<Result> result_members() {
  const auto breakdown = [](const Result& r) {
    return r.critical_device.valid() ? &r.breakdown : nullptr;
  };
  Fields<Result> all = {{"digest", [](const Result& r) { return to_hex(r.digest); }},
                        {"fidelity", &Result::fidelity},
                        {"model", model_part_fields()},
                        {"cluster", cluster_part_fields()},
                        {"plan", &Result::plan, object(plan_fields())},
                        {"verdict", &Result::verdict, object(verdict_fields())}};
  all.add(speed_fields());
  all.add(
      {"memory", Fields<Result>{{"capacity_bytes", &Result::capacity},
                                {"stages", &Result::memory, list_of(object(stage_memory_fields()))},
                                {"host", &Result::host, object(host_fields()),
                                 "memory of the host, where a plan offloads"}}});
  all.add({"breakdown_seconds", breakdown, object(breakdown_fields())});
  all.add({"critical_device", &Result::critical_device, kWhereSet});
  all.add(cost_fields());
  all.add(trust_fields());
  return all;
}

}  // namespace

Fields<FiredRule> fired_rule_fields() {
  const auto layer = [](const FiredRule& f) {
    return f.layer >= 0 ? std::optional<std::int64_t>(f.layer) : std::nullopt;
  };
  const auto device = [](const FiredRule& f) {
    return f.device >= 0 ? std::optional<std::int64_t>(f.device) : std::nullopt;
  };
  return {{"rule", &FiredRule::rule},
          {"step", &FiredRule::step, kWhereSet, "after so many updates; absent of a timeline"},
          {"where", &FiredRule::where, "the tensor, device or figure that it fired for"},
          {"layer", layer, whole(), "of the model, counted over all blocks"},
          {"device", device, whole(), "pipeline rank"},
          {"found", &FiredRule::found, finite_number(), "null where it is no finite number"},
          {"limit", &FiredRule::limit},
          {"sentence", &FiredRule::sentence},
          {"advice", &FiredRule::advice, "what to try"},
          {"at_seconds", &FiredRule::at, nearest_seconds(), "where it shows in the timeline"}};
}

const Fields<Result>& result_fields() {
  static const Fields<Result> fields = document_fields("trainyard/result", result_members());
  return fields;
}

Json to_json(const Result& r) { return result_fields().write(r); }

std::string result_document(const Result& result) { return write_json(to_json(result)); }

}  // namespace trainyard
