// Every document that is read: each of its fields is in the schema, the document and what is read.
#include <gtest/gtest.h>

#include "core/io/documents/calibration_json.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/documents/order_json.h"
#include "core/io/documents/plan_json.h"
#include "core/io/documents/profile_json.h"
#include "core/io/documents/project.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/model/ops.h"
#include "tests/support/in_all_three.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

ParameterProfile full_profile() {
  ParameterProfile profile;
  profile.rows = "runs.csv: 12 rows in 3 groups";
  profile.devices = {"a100-sxm-80", "h100-sxm"};
  profile.determined.fill(0.5);
  profile.steps = StepFactor{1.08, 0.85};
  profile.before = {0.11, 0.25, 0.3};
  profile.after = {0.02, 0.05, 0.06};
  profile.notes = {"straggler is not determined by these rows"};
  for (const ParameterInfo& row : parameter_table()) {
    profile.parameters[row.parameter] = row.low + (row.high - row.low) / 3;
    profile.shipped[row.parameter] = row.low + (row.high - row.low) / 4;
  }
  return profile;
}

TEST(DocumentFields, OfAProfile) { testing::is_in_all_three(profile_fields(), full_profile()); }

TEST(DocumentFields, OfACalibration) {
  Calibration c;
  c.machine = "a core, oneDNN 2.6.3";
  c.device = "h100-sxm", c.issue = 11us, c.reserve = 1.25;
  Work product;
  product.kind = WorkKind::Product;
  product.kernel = kernel_of(matmul(), Pass::BackwardWeight);
  product.m = 784, product.n = 512, product.k = 64;
  product.flops = {51.380224e6};
  product.read = Bytes{333'824}, product.written = Bytes{1'605'632};
  product.before = Bytes{400'000};
  c.kernels = {{.work = product, .time = 271us, .spread = 0.015, .repeats = 96}};
  c.overhead = 500ns;
  c.copy = {.start = 1500ns, .rate = {17e9}};
  c.reduce = {11e9};
  c.exchanges = {{CollectiveKind::AllReduce, 4, Bytes{4096}, 40us, 2}};
  c.held_back = {{CollectiveKind::AllReduce, 4, Bytes{8192}, 70us, 2}};
  c.exposed = {{CollectiveKind::AllGather, 8, 0.25}};
  c.contention = {{"products", 1.25, 0.05, 12, std::chrono::microseconds(300)}};
  c.residual_median = 0.021, c.residual_worst = 0.064;
  c.other_shapes = OtherShapes::Learned;
  c.variants = {{{VariantKernel::Product, {64, 48, 32, 1, 0, 1}}, kProductGemm, {3us, 2us, 1us}},
                {{VariantKernel::Convolution, {2, 8, 16, 32, 32, 24, 16, 16, 3, 2, 1}},
                 kConvolutionBlocked,
                 {30us, 20us, 0us}}};
  c.notes = {"one thread"};
  testing::is_in_all_three(calibration_fields(), c);
}

TEST(DocumentFields, OfAPlan) {
  Plan plan;
  plan.name = "two nodes";
  plan.mesh = {.tp = 8, .cp = 2, .ep = 4, .dp = 3, .pp = 2, .order = "tp-cp-ep-pp-dp", .etp = 1};
  plan.virtual_stages = 2;
  plan.batch = {.global = 64, .micro = 2, .sequence = 4096};
  plan.split.layers = {16, 8, 8, 16};
  plan.order = "d0/wave 0  0F0 0B0\nd0/wave 1 +5ns  0F1/1 0B1/1\n";
  plan.optimizer = "momentum";
  plan.software = {"megatron-core", "fused", "cudnn", "on", "2026-02"};
  plan.choices = {{"1f1b", {}}, {"zero", {{"stage", std::int64_t{1}}}}};
  // A plan that names its attention kernel has fused attention, which is the default.
  testing::is_in_all_three(plan_fields(), plan, "flash_attention");
  EXPECT_EQ(parse_plan(plan_document(plan), "plan.json"), plan);
}

TEST(DocumentFields, OfAProject) {
  Project project;
  project.model = "gpt2", project.cluster = "cpu:8";
  project.calibration = write_json_line(profile_fields().write(full_profile()));
  project.plans = {{"A", "a.json", {"tp=8"}, {{1, 5, "a wait"}}},
                   {"B", "b.json", {"pp=2"}, {{2, 2, "b"}}}};
  project.notes = {{"A", "B", "faster"}};
  project.current = 1;
  project.perspective = "analyse", project.tab = "memory";
  project.automatic = false;
  testing::is_in_all_three(project_fields(), project);
  EXPECT_EQ(parse_project(project_document(project), "project.json"), project);
}

TEST(DocumentFields, OfAnOrder) {
  OrderDocument order;
  order.schedule = "zb-v", order.placement = "v", order.found_by = "exhaustive search";
  order.devices = 2, order.virtual_stages = 3, order.microbatches = 4;
  order.steps = 5, order.step = 2;
  order.makespan = 1.5, order.ideal = 1.25, order.lower_bound = 1.125;
  order.bubble_fraction = 0.5, order.over_one_wave = 1.75;
  order.span_bubble_fraction = {0.25, 0.5};
  order.live_microbatches = {2, 1.5};
  order.delays = {1, 0}, order.versions = {2, 1};
  order.card = {"time", "memory", "always", "a paper"};
  order.order = parse_order("d0/compute  0F0 0B0\n", {"order"});
  testing::is_in_all_three(order_fields(), order);
  EXPECT_EQ(to_text(order_of(order_document(order), "order.json")), to_text(order.order));
}

TEST(DocumentFields, OfACluster) {
  Cluster cluster = make_cluster(device("h100-sxm"), 16);
  Device& own = cluster.device;
  own.id = "own", own.name = "Own", own.vendor = "us", own.year = 2030, own.units = 99;
  own.scale_up_dimensions = 2, own.scale_up_topology = Topology::Torus, own.scale_up_domain = 64;
  own.idle_power = {{77}, "a meter"};
  own.compression = {0.625, "a codec"};
  own.bit_errors = {0.01, "a voltage"};
  own.price_low = Sourced<double>{1.5, "a bill"}, own.price_high = Sourced<double>{2.5, "a bill"};
  for (Sourced<double>* share :
       {&own.efficiency.product, &own.efficiency.eight_bit, &own.efficiency.tf32,
        &own.efficiency.attention, &own.efficiency.memory, &own.efficiency.scale_up,
        &own.efficiency.network, &own.efficiency.send, &own.efficiency.all_to_all})
    *share = {0.515625, "a guess"};
  cluster.name = "ours";
  cluster.host_memory = {2048_GiB, "dmidecode"}, cluster.host_bandwidth = {{3e11}, "stream"};
  cluster.nvme = {8192_GiB, "lsblk"};
  cluster.nvme_read = {{2e10}, "fio"}, cluster.nvme_write = {{1e10}, "fio"};
  cluster.site = {"sweden", 1.125}, own.on_chip_memory = true;
  cluster.mixed = {{own, 3}};
  cluster.slowness = {0.25, 0.125, 1.5, 4, 7};
  cluster.levels = {{.name = "pod", .size = 8, .topology = Topology::Torus, .dimensions = {2, 4}},
                    {.name = "rack", .size = 2, .topology = Topology::FatTree}};
  for (Level& level : cluster.levels) {
    level.bandwidth = {{5e10}, "a datasheet"}, level.latency = {3us, "a ping"};
    level.oversubscription = 2, level.reduces = true, level.dimensions.resize(2, 1);
    level.port_buffer = 2_GiB, level.port_marks = 1_GiB;
  }
  testing::is_in_all_three(cluster_fields(), cluster);
}

TEST(DocumentFields, OfADefectOfATrace) {
  testing::is_in_all_three(trace_defect_fields(), {"a duration", "none", 12, 345, 3, "left out"});
}

}  // namespace
}  // namespace trainyard
