import { Configuration, MetadataDiscovery, MetadataStorage, type MikroORM, Platform } from '@mikro-orm/core'

/**
 * What the ORM finds out about the entities is the same for every server of a process, and so is the code that it makes from it: to do that for
 * each server took a third of what it takes to start one, and none of the code was run often enough to become fast. So it is done once for each
 * kind of database.
 */
export function discoverOnce(): void {
  const known = new Map<string, MetadataStorage>()
  let platform = ''
  const initialize = Reflect.get(Platform.prototype, 'init')
  const discover = Reflect.get(MetadataDiscovery.prototype, 'discoverSync')
  // An ORM that is made calls one right after the other.
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
}

/** The entities' prototypes are the process's: those of the last kind of database stay, and what was compiled for them stays valid. */
function decorateOnce(): void {
  const decorate = Reflect.get(MetadataStorage.prototype, 'decorate')
  let last = new WeakSet<MetadataStorage>()
  MetadataStorage.prototype.decorate = function (em) {
    if (last.has(this)) return
    decorate.call(this, em)
    last = new WeakSet([this])
  }
}

/** Shares what turns rows into entities, or compares these with what they were: it knows the entities and the settings, no connection. */
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
