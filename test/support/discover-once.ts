import { Configuration, MetadataDiscovery, MetadataStorage, type MikroORM, Platform } from '@mikro-orm/core'

/**
 * Caches the ORM's entity metadata and generated code per kind of database. Without the cache, they took a third of the start time of each server in
 * a process, and the generated code never ran often enough to be optimized.
 */
export function discoverOnce(): void {
  const known = new Map<string, MetadataStorage>()
  let platform = ''
  const initialize = Reflect.get(Platform.prototype, 'init')
  const discover = Reflect.get(MetadataDiscovery.prototype, 'discoverSync')
  // MikroORM calls both methods in sequence, so the platform is known when entities are discovered.
  Platform.prototype.init = function (orm: MikroORM) {
    initialize.call(this, orm)
    platform = this.constructor.name
  }
  MetadataDiscovery.prototype.discoverSync = function () {
    const found = known.get(platform) ?? discover.call(this)
    known.set(platform, found)
    return found
  }
  decorateOnce()
  compileOnce('getHydrator')
  compileOnce('getComparator')
  reportOnce()
}

/**
 * Decorates the entity prototypes only if the last decoration used other metadata. Prototypes are shared by the process, and the code that was
 * compiled for them stays valid.
 */
function decorateOnce(): void {
  const decorate = Reflect.get(MetadataStorage.prototype, 'decorate')
  let last = new WeakSet<MetadataStorage>()
  MetadataStorage.prototype.decorate = function (em) {
    if (last.has(this)) return
    decorate.call(this, em)
    last = new WeakSet([this])
  }
}

/** Shares the hydrator or comparator of entities. They depend on metadata and settings, not on a connection. */
function compileOnce(name: 'getHydrator' | 'getComparator'): void {
  const make = Reflect.get(Configuration.prototype, name)
  const made = new WeakMap<MetadataStorage, unknown>()
  Object.assign(Configuration.prototype, {
    [name](this: Configuration, metadata: MetadataStorage) {
      if (!made.has(metadata)) made.set(metadata, Reflect.apply(make, this, [metadata]))
      return made.get(metadata)
    },
  })
}

/**
 * Makes Node's report about this process once: its limits do not change, and every start of a server reads them. Tests of the limit itself run in
 * processes of their own.
 */
function reportOnce(): void {
  const make = process.report.getReport.bind(process.report)
  let made: object | undefined
  process.report.getReport = () => (made ??= make())
}
