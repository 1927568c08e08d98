export { startAgent, type RunningAgent, type StartAgentOptions } from "./start-agent.ts";
export { ConfigError, parseAgentConfig, readAgentConfig, type AgentConfig } from "./config.ts";
export { closeInheritedDescriptors } from "./inherited-descriptors.ts";
export type { Logger } from "./log.ts";
