import { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, type Sampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { Config } from '../config/config.ts'

type Samplers = Record<NonNullable<Config['OTEL_TRACES_SAMPLER']>, Sampler>

/** Returns the sampler that decides which requests and jobs are traced. */
export function samplerOf({ OTEL_TRACES_SAMPLER: name = 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: share = 1 }: Config): Sampler {
  const [on, off, ratio] = [new AlwaysOnSampler(), new AlwaysOffSampler(), new TraceIdRatioBasedSampler(share)]
  const samplers: Samplers = {
    always_on: on,
    always_off: off,
    traceidratio: ratio,
    parentbased_always_on: new ParentBasedSampler({ root: on }),
    parentbased_always_off: new ParentBasedSampler({ root: off }),
    parentbased_traceidratio: new ParentBasedSampler({ root: ratio }),
  }
  return samplers[name]
}
