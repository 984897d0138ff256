import { SpanKind } from '@opentelemetry/api'
import type { BlobStore } from '../blobs/store.ts'
import type { Spans } from './spans.ts'

/**
 * Wraps a store so that each call creates a span. The span of `open` ends when the first bytes are available. Listings have no span, because they are
 * interleaved with the work of their reader.
 */
export function traceBlobs(spans: Spans, store: BlobStore, backend: string): BlobStore {
  const step = <Value>(name: string, call: () => Promise<Value>) =>
    spans.step(() => ({ name: `blobs ${name}`, kind: SpanKind.CLIENT, attributes: { 'snug.blobs.backend': backend } }), call)
  return {
    ...store,
    stage: (...given) => step('stage', () => store.stage(...given)),
    stageWhole: (...given) => step('stageWhole', () => store.stageWhole(...given)),
    openStaged: (...given) => step('openStaged', () => store.openStaged(...given)),
    promote: (...given) => step('promote', () => store.promote(...given)),
    discard: (...given) => step('discard', () => store.discard(...given)),
    open: (...given) => step('open', () => store.open(...given)),
    read: (...given) => step('read', () => store.read(...given)),
    link: (...given) => step('link', () => store.link(...given)),
    place: (...given) => step('place', () => store.place(...given)),
    hash: (...given) => step('hash', () => store.hash(...given)),
    has: (...given) => step('has', () => store.has(...given)),
    remove: (...given) => step('remove', () => store.remove(...given)),
    restore: (...given) => step('restore', () => store.restore(...given)),
    check: () => step('check', () => store.check()),
  }
}
