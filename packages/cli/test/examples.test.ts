// The examples as one `keelson up` deploys them, which takes longer to start than most of their suites.

import "../../../examples/ai-chat/test/chat.suite.ts";
import "../../../examples/ai-chat/test/page.suite.ts";
import "../../../examples/code-fixer/test/fix.suite.ts";
import "../../../examples/repository-report/test/report.suite.ts";
