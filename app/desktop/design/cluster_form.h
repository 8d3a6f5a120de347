// A ClusterForm shows the cluster as a form: device, nodes, devices per node, network. It reads and
// writes the words of --cluster, or the project's own cluster.
#pragma once

#include <QWidget>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QLabel;

namespace trainyard {

class ClusterNumbers;
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
  void write_network(const QString& kind);
  Document& document_;
  ClusterNumbers& numbers_;
  Field *device_, *network_;
  Stepper *nodes_, *per_node_;
  QLabel* facts_;
  bool own_ = false;  // the cluster is a document, so its fields are set one by one
};

}  // namespace trainyard
