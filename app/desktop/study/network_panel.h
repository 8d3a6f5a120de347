// A NetworkPanel asks how the transfers of the open plan share the links of its cluster: which of
// equal paths they take, and what other jobs send beside them.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/scenario/network_step.h"
#include "app/workspace/scenario/request.h"

class QLabel;

namespace trainyard {

class Segment;

/// The options of a step over the network, and how it is watched while it runs.
struct NetworkQuestion {
  NetworkOptions options;
  std::stop_token stop;
  std::function<void(double)> progress;
};

using NetworkMeasurement = MeasurementOf<NetworkStep>;

class NetworkPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  NetworkPanel(Document&, const NetworkMeasurement&, QWidget* parent = nullptr);

  /// The open plan; empty without one, and where a field is wrong.
  std::optional<Request> request() const { return open_plan(); }
  NetworkQuestion question() const;
  QString fingerprint() const override;

 private:
  void make_question();
  void make_incast(QVBoxLayout*);
  void say_incast();
  Verbs verbs() const override;

  Segment* routing_ = nullptr;
  CheckedField *tenants_ = nullptr, *seed_ = nullptr, *slots_ = nullptr, *trees_ = nullptr;
  // Senders that meet at one port, and what is said of them. They change nothing of the step.
  CheckedField* senders_ = nullptr;
  QLabel* incast_ = nullptr;
};

}  // namespace trainyard
