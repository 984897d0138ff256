import { MetadataDiscovery, type MetadataStorage, type MikroORM, Platform } from '@mikro-orm/core'

/**
 * What the ORM finds out about the entities is the same for every server of a process, and a third of what it takes to start one. So it is found
 * out once for each kind of database.
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
}
