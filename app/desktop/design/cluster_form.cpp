#include "app/desktop/design/cluster_form.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/cluster_numbers.h"
#include "app/workspace/scenario/cluster_wiring.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cluster/cluster.h"
#include "core/cluster/cluster_fields.h"
#include "core/cluster/wiring.h"
#include "core/io/json/inline_document.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::int64_t stepped(std::int64_t n, int direction) {
  return direction > 0 ? 2 * n : std::max<std::int64_t>(1, n % 2 == 0 ? n / 2 : n - 1);
}

// The options behind the count, such as ",per-node=8,inter=200GB/s". They stay when the count
// changes; per-node is rewritten, and sizes of a wiring are proposed anew (rewire()).
std::string options_of(const std::string& words) {
  const std::size_t comma = words.find(',');
  if (comma == std::string::npos) return "";
  std::string kept;
  for (const QString& option : q(words.substr(comma + 1)).split(','))
    if (!option.startsWith("per-node=")) kept += "," + option.toStdString();
  return kept;
}

bool torus_inside(const Cluster& cluster) {
  return cluster.device.scale_up_topology == Topology::Torus;
}

// Options of a cluster whose count is another: sizes of the wirings that they name as they suit it.
std::string rewired(const Cluster& bare, std::string options) {
  if (options.find(",cube-mesh=") != std::string::npos && !may_be_cube_mesh(bare))
    options = with_cube_mesh(options, 0);
  const bool inside = torus_inside(bare);
  for (const std::string kind : {"torus", "dragonfly"}) {
    if (options.find("," + kind + "=") == std::string::npos || (inside && kind == "torus"))
      continue;
    const std::string sizes = nodes(bare) > 1 ? proposed_sizes(bare, kind) : std::string();
    return with_network(options, sizes.empty() ? "fat-tree" : kind, sizes, inside);
  }
  return options;
}

// The kinds that the fields of a cluster of its own can have.
std::vector<std::string> own_network_kinds(const Cluster& cluster) {
  for (const ClusterField& field : cluster_fields(cluster))
    if (field.key == "network.kind") return field.words;
  return {};
}

QString facts(const Cluster& cluster) {
  const Device& d = cluster.device;
  QStringList parts = {q(cluster.name)};
  if (supports(d, DType::BF16))
    parts << "bf16 dense <b>" + q(format_throughput(peak(d, DType::BF16))) + "</b>";
  parts << q(d.memory_kind) + " <b>" + q(format_bandwidth(d.memory_bandwidth.value)) + "</b>";
  for (const Level& level : cluster.levels)
    parts << q(level.name) + " <b>" + q(format_bandwidth(level.bandwidth.value)) + "</b>";
  parts << "memory <b>" + q(format_bytes(d.memory.value)) + "</b>";
  return parts.join(" &nbsp;&nbsp; ");
}

}  // namespace

ClusterForm::ClusterForm(Document& document, ClusterNumbers& numbers, QWidget* parent)
    : QWidget(parent), document_(document), numbers_(numbers) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(14, 8, 14, 8);
  row->setSpacing(8);
  device_ = new Field("Device");
  for (const Device& d : devices()) device_->addItem(q(d.name), q(d.id));
  device_->setMinimumWidth(140);
  nodes_ = new Stepper("Nodes");
  per_node_ = new Stepper("Devices per node");
  nodes_->setFixedWidth(84);
  per_node_->setFixedWidth(84);
  network_ = new Field("Network");
  network_->setMinimumWidth(84);
  network_->setToolTip(
      "Fat tree: leaf and spine switches. Rail: devices of one index meet in one switch. Torus: "
      "nodes are joined to their neighbours. Dragonfly: groups of routers.");
  sizes_ = new QLineEdit;
  sizes_->setAccessibleName("Sizes of the network");
  sizes_->setFixedSize(76, kFieldHeight);
  inside_ = new Field("Wiring inside a node");
  inside_->addItem("switch", 0);
  for (const int links : {4, 6}) inside_->addItem(QString("cube mesh, %1 links").arg(links), links);
  inside_->setToolTip(
      "The 8 devices of a node are joined by switches, or as in a DGX-1: with 4 links of each "
      "(P100), or 6 (V100).");
  auto* all = new QPushButton("Numbers…");
  all->setProperty("kind", "small");
  all->setCheckable(true);
  all->setAccessibleName("Show and change every number of the cluster");
  all->setToolTip("Every number with its source; what you type is marked as assumed");
  facts_ = new ElidedLabel(11, "error");
  const auto add = [&](const char* name, QWidget* control) {
    QLabel* const label = make_label(name, 12, QFont::Normal, "second");
    row->addWidget(label);
    row->addWidget(control);
    row->addSpacing(8);
    return label;
  };
  add("Device", device_);
  add("Nodes", nodes_);
  add("Per node", per_node_);
  inside_label_ = add("Inside", inside_);
  add("Network", network_);
  row->insertWidget(row->count() - 1, sizes_);
  row->addWidget(all);
  row->addWidget(facts_, 1);
  const auto number = [](const QString& text) { return std::max<qlonglong>(0, text.toLongLong()); };
  const auto now = [this, number](int add_nodes, int add_per_node) {
    const std::int64_t nodes = number(nodes_->value()), per_node = number(per_node_->value());
    if (own_ && add_nodes != 0)
      return numbers_.set("nodes", QString::number(stepped(nodes, add_nodes)));
    if (own_ && add_per_node != 0)
      return numbers_.set("per-node", QString::number(stepped(per_node, add_per_node)));
    write(device_->currentData().toString().toStdString(),
          add_nodes == 0 ? nodes : stepped(nodes, add_nodes),
          add_per_node == 0 ? per_node : stepped(per_node, add_per_node));
  };
  connect(device_, &QComboBox::activated, this, [now] { now(0, 0); });
  connect(nodes_, &Stepper::stepped, this, [now](int by) { now(by, 0); });
  connect(per_node_, &Stepper::stepped, this, [now](int by) { now(0, by); });
  connect(nodes_, &Stepper::entered, this,
          [this, now](const QString& text) { own_ ? numbers_.set("nodes", text) : now(0, 0); });
  connect(per_node_, &Stepper::entered, this,
          [this, now](const QString& text) { own_ ? numbers_.set("per-node", text) : now(0, 0); });
  connect(network_, &QComboBox::textActivated, this, &ClusterForm::write_network);
  connect(sizes_, &QLineEdit::editingFinished, this, &ClusterForm::write_sizes);
  connect(inside_, &QComboBox::activated, this, &ClusterForm::write_inside);
  connect(all, &QPushButton::toggled, this, &ClusterForm::numbers_wanted);
  connect(&document_, &Document::changed, this, &ClusterForm::refresh);
  refresh();
}

void ClusterForm::write(const std::string& device_id, std::int64_t nodes, std::int64_t per_node) {
  if (device_id.empty()) return;  // the project's own device is already shown
  const std::string words =
      device_id + ":" + std::to_string(nodes * per_node) + ",per-node=" + std::to_string(per_node);
  try {
    const Cluster standard = make_cluster(device(device_id), nodes * per_node);
    const bool usual = devices_per_node(standard) == per_node;
    const std::string options = device_id == device_->property("shown").toString().toStdString()
                                    ? options_of(document_.project().cluster)
                                    : std::string();
    const std::string bare = usual ? device_id + ":" + std::to_string(nodes * per_node) : words;
    set_words(bare + rewired(parse_cluster(bare), options));
  } catch (const Error& error) {
    refresh();
    say(q(describe(error)));
  }
}

// The form never writes what it could not read.
void ClusterForm::set_words(const std::string& words) {
  parse_cluster(words);
  document_.set_cluster(q(words));
}

void ClusterForm::write_wiring(const std::function<std::string(const Cluster&)>& words) {
  try {
    set_words(words(parse_cluster(document_.project().cluster)));
  } catch (const Error& error) {
    refresh();
    say(q(describe(error)));
  }
}

// If the cluster is described by words, the kind of network is one of them; other options stay.
void ClusterForm::write_network(const QString& kind) {
  if (own_) return numbers_.set("network.kind", kind);
  write_wiring([&](const Cluster& now) {
    return with_network(document_.project().cluster, kind.toStdString(),
                        proposed_sizes(now, kind.toStdString()), torus_inside(now));
  });
}

void ClusterForm::write_sizes() {
  const std::string typed = sizes_->text().trimmed().toStdString();
  if (typed == shown_sizes_) return;
  if (own_) return numbers_.set("network.sizes", q(typed));
  write_wiring([&](const Cluster& now) {
    return with_network(document_.project().cluster, network_->currentText().toStdString(), typed,
                        torus_inside(now));
  });
}

void ClusterForm::write_inside(int index) {
  write_wiring([&](const Cluster&) {
    return with_cube_mesh(document_.project().cluster, inside_->itemData(index).toInt());
  });
}

void ClusterForm::show_wiring(const Cluster& cluster) {
  std::vector<std::string> kinds = network_kinds(cluster);
  if (own_) kinds = own_network_kinds(cluster);
  network_->clear();
  for (const std::string& kind : kinds) network_->addItem(q(kind));
  network_->setEnabled(!kinds.empty());
  const bool joined = cluster.levels.size() > 1;
  if (joined) network_->setCurrentText(q(std::string(to_string(cluster.levels[1].topology))));
  shown_sizes_ =
      joined && !kinds.empty() ? extents_text(cluster.levels[1].dimensions) : std::string();
  sizes_->setText(q(shown_sizes_));
  sizes_->setVisible(!shown_sizes_.empty());
  sizes_->setToolTip(joined && cluster.levels[1].topology == Topology::Dragonfly
                         ? "Groups, routers of a group, and links of a router to other groups"
                         : "Nodes along each dimension, as 8x4");
  const Level& node = cluster.levels.front();
  const bool inside = !own_ && may_be_cube_mesh(cluster);
  inside_->setVisible(inside);
  inside_label_->setVisible(inside);
  inside_->setCurrentIndex(std::max(
      0, inside_->findData(node.topology == Topology::CubeMesh ? node.dimensions.front() : 0)));
}

void ClusterForm::refresh() {
  const std::string& words = document_.project().cluster;
  own_ = words.find(':') == std::string::npos || is_inline_document(words);
  const bool empty = words.empty();
  for (QWidget* control :
       std::initializer_list<QWidget*>{device_, nodes_, per_node_, network_, inside_, sizes_})
    control->setEnabled(!empty);
  say("");
  if (empty) return Q_EMIT described("");
  try {
    const Cluster cluster =
        open_named({.model = "", .cluster = words, .plan = "", .settings = {}}).cluster;
    device_->setProperty("shown", q(cluster.device.id));
    int at = device_->findData(q(cluster.device.id));
    if (own_ || at < 0) {
      // An edited device is no longer one of the catalogue's.
      at = device_->findData(QString());
      if (at < 0) device_->insertItem(at = 0, "", QString());
      device_->setItemText(at, q(cluster.device.name));
    }
    device_->setCurrentIndex(at);
    nodes_->set_value(QString::number(nodes(cluster)));
    per_node_->set_value(QString::number(std::min(devices_per_node(cluster), cluster.count)));
    nodes_->set_steps(nodes(cluster) > 1, true);
    per_node_->set_steps(devices_per_node(cluster) > 1, true);
    show_wiring(cluster);
    Q_EMIT described(facts(cluster));
  } catch (const Error& error) {
    say(q(describe(error)));
  }
}

void ClusterForm::say(const QString& sentence) {
  facts_->setText(sentence);
  facts_->setToolTip(sentence);
}

}  // namespace trainyard
