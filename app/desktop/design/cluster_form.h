// A ClusterForm shows the cluster as a form: device, nodes, devices per node, network. It reads and
// writes the words of --cluster, or the project's own cluster.
#pragma once

#include <QWidget>

#include <functional>
#include <string>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QLabel;
class QLineEdit;

namespace trainyard {

class ClusterNumbers;
struct Cluster;
class Field;
class Stepper;

class ClusterForm : public QWidget {
  Q_OBJECT

 public:
  /// numbers: edits the project's own cluster.
  ClusterForm(Document&, ClusterNumbers& numbers, QWidget* parent = nullptr);

 Q_SIGNALS:
  void described(const QString& html);  // the figures of the cluster
  void numbers_wanted(bool);            // whether to show the numbers instead of the picture

 private:
  void refresh();
  void say(const QString& sentence);
  void write(const std::string& device, std::int64_t nodes, std::int64_t per_node);
  void set_words(const std::string&);
  void write_wiring(const std::function<std::string(const Cluster&)>& words);
  void write_network(const QString& kind);
  void write_sizes();
  void write_inside(int index);
  void show_wiring(const Cluster&);
  Document& document_;
  ClusterNumbers& numbers_;
  Field *device_, *network_, *inside_;
  Stepper *nodes_, *per_node_;
  QLineEdit* sizes_;  // of a torus between nodes, or a dragonfly
  std::string shown_sizes_;
  QLabel *inside_label_, *facts_;
  bool own_ = false;  // the cluster is a document, so its fields are set one by one
};

}  // namespace trainyard
