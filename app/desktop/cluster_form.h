// The cluster as a form: device, nodes, devices a node, network. It reads and writes the words of
// --cluster.
#pragma once

#include <QWidget>

#include "app/desktop/document.h"
#include "app/desktop/session.h"

class QLabel;

namespace trainyard {

class Field;
class Stepper;

class ClusterForm : public QWidget {
  Q_OBJECT

 public:
  ClusterForm(Document&, QWidget* parent = nullptr);

 Q_SIGNALS:
  void described(const QString& html);  // the cluster's figures

 private:
  void refresh();
  void say(const QString& sentence);
  void write(const std::string& device, std::int64_t nodes, std::int64_t per_node);
  Document& document_;
  Field* device_;
  Stepper *nodes_, *per_node_;
  QLabel* facts_;
  bool file_ = false;  // the cluster comes from a file: shown, not changed here
};

}  // namespace trainyard
