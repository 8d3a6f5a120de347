#include "app/desktop/calibrate_page.h"

#include "app/desktop/gallery_page.h"
#include "app/desktop/kernels_page.h"
#include "app/desktop/links_page.h"
#include "app/desktop/machine_page.h"
#include "app/desktop/recorded_page.h"
#include "app/desktop/snapshot_page.h"

namespace trainyard {

CalibratePage::CalibratePage(Document& document, Published& published, Session& session,
                             QWidget* parent)
    : TabPage("Measurements", parent) {
  add("Published", new GalleryPage(document, published));
  add("Machine", new MachinePage(document, session));
  auto* recorded = new RecordedPage(session);
  add("Recorded", recorded);
  add("Kernels", new KernelsPage(session, *recorded));
  add("Snapshot", new SnapshotPage(session));
  add("Links", new LinksPage);
}

}  // namespace trainyard
