#include "app/desktop/design/cluster_form.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/cluster_numbers.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cluster/cluster.h"
#include "core/io/json/inline_document.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::int64_t stepped(std::int64_t n, int direction) {
  return direction > 0 ? 2 * n : std::max<std::int64_t>(1, n % 2 == 0 ? n / 2 : n - 1);
}

// The options behind the count, such as ",per-node=8,inter=200GB/s". They stay when the count
// changes; per-node is rewritten.
std::string options_of(const std::string& words) {
  const std::size_t comma = words.find(',');
  if (comma == std::string::npos) return "";
  std::string kept;
  for (const QString& option : q(words.substr(comma + 1)).split(','))
    if (!option.startsWith("per-node=")) kept += "," + option.toStdString();
  return kept;
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
  network_->addItems({"fat-tree", "rail"});
  network_->setMinimumWidth(84);
  auto* all = new QPushButton("Numbers…");
  all->setProperty("kind", "small");
  all->setCheckable(true);
  all->setAccessibleName("Show and change every number of the cluster");
  all->setToolTip("Every number with its source; what you type is marked as assumed");
  facts_ = new ElidedLabel(11, "error");
  const auto add = [&](const char* name, QWidget* control) {
    row->addWidget(make_label(name, 12, QFont::Normal, "second"));
    row->addWidget(control);
    row->addSpacing(8);
  };
  add("Device", device_);
  add("Nodes", nodes_);
  add("Per node", per_node_);
  add("Network", network_);
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
    const std::string wanted =
        (usual ? device_id + ":" + std::to_string(nodes * per_node) : words) + options;
    parse_cluster(wanted);  // validated here, so that the form never writes what it could not read
    document_.set_cluster(q(wanted));
  } catch (const Error& error) {
    refresh();
    say(q(describe(error)));
  }
}

// If the cluster is described by words, the kind of network is one of them; other options stay.
void ClusterForm::write_network(const QString& kind) {
  if (own_) return numbers_.set("network.kind", kind);
  QStringList options;
  for (const QString& option : q(document_.project().cluster).split(','))
    if (option != "rail" && option != "fat-tree" &&
        !(kind == "rail" && option.startsWith("oversubscription=")))
      options << option;
  if (kind != "fat-tree") options << kind;
  const QString words = options.join(',');
  try {
    parse_cluster(words.toStdString());
    document_.set_cluster(words);
  } catch (const Error& error) {
    refresh();
    say(q(describe(error)));
  }
}

void ClusterForm::refresh() {
  const std::string& words = document_.project().cluster;
  own_ = words.find(':') == std::string::npos || is_inline_document(words);
  const bool empty = words.empty();
  for (QWidget* control : std::initializer_list<QWidget*>{device_, nodes_, per_node_, network_})
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
    network_->setEnabled(cluster.levels.size() > 1);
    if (cluster.levels.size() > 1)
      network_->setCurrentText(
          QString::fromUtf8(std::string(to_string(cluster.levels[1].topology)).c_str()));
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
