import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000001_pending_uploads extends Migration {
  override up() {
    // Every publish queries the unfinished uploads of its author. Without this index, it would scan all uploads of the last day.
    this.addSql('create index "uploads_pending" on "uploads" ("user_id", "expires_at") where "message" is null;')
  }
}
