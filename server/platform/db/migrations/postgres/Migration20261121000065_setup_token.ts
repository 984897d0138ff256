import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000065_setup_token extends Migration {
  override up() {
    this.addSql('alter table "setup_codes" add "token_hash" varchar(64) null;')
  }
}
