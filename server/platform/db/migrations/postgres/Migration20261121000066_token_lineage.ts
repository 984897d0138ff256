import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000066_token_lineage extends Migration {
  override up() {
    this.addSql('alter table "access_tokens" add "made_with_id" uuid null;')
    this.addSql('alter table "access_tokens" add constraint "access_tokens_made_with_id_foreign" foreign key ("made_with_id") references "access_tokens" ("id") on delete cascade;')
    this.addSql('create index "access_tokens_made_with_id_index" on "access_tokens" ("made_with_id");')
  }
}
